#!/bin/bash
# .NET: known chains of calls have exactly their methods, launched and attached to, with default settings: methods of all
# kinds, generic and nested types, lambdas, handlers, iterators, threads, tasks, asynchronous methods, delegates that C calls,
# and code that is made at run time.
# beside others
set -euo pipefail
. e2e/lib.sh
need_root
need mcs go
language=dotnet
. e2e/scripts/lib.sh
. e2e/dotnet/lib.sh

find_dotnet
compile e2e/dotnet/chains_target.cs "$TMP/chains.dll"

CACHE=$TMP/cache
record -- "$runtime/host" "$TMP/chains.dll" 1 2>/dev/null # so that unwind tables are there
made() {
    grep -q 'Chains.Program.Main;Chains.Program.c26;made;Chains.Program.Spin' "$profile" ||
        fail "code that was made has no name"
}
ahead() {
    ! grep -q '\.dll+0x' "$profile" || fail "code that was compiled ahead of time has no name: $(grep -m 1 -o '[^;]*\.dll+0x' "$profile")"
}
launched 'launched' "$runtime/host" "$TMP/chains.dll" 80
made
ahead
attached 'attached' "$runtime/host" "$TMP/chains.dll" 80
