#!/bin/bash
# The PLT, and ld.so's resolver, which LD_BIND_NOT makes run at every call.
# beside others
set -euo pipefail
. e2e/lib.sh
need_root

build_target tiny -shared -fPIC
mv "$TMP/tiny" "$TMP/libtiny.so"
build_target lazy -fplt -Wl,-z,lazy -L"$TMP" -ltiny -Wl,-rpath,"$TMP"
HZ=1997 record -- env -u LD_BIND_NOW LD_BIND_NOT=1 "$TMP/lazy" 500
expect_samples 800
expect_complete 99
loader='\[ld-linux[^;]*\]' # it has no names without its debug file
resolver="($loader|_dl_runtime_resolve[^;]*)"
expect_share 99 "_start;(.*;)?main;caller;$resolver" "$resolver;?.*"
expect_stack "main;caller;$resolver" "$profile" 300
expect_stack "main;caller;$resolver;($loader|_dl_fixup)" "$profile" 50

HZ=4997 record -- env -u LD_BIND_NOW "$TMP/lazy" 300
expect_samples 1000
expect_complete 99
expect_stack 'main;caller;(tiny@plt|\[lazy\+0x[0-9a-f]+\])' "$profile" 20
expect_stack 'main;caller;tiny' "$profile" 3
