#!/bin/bash
# A program that exists only inside of containers: two, on overlay mounts of one image.
# beside others
set -euo pipefail
. e2e/lib.sh
need_root

need runc jq
# The image: a dynamic executable with its own copy of libc and ld.so; the host knows it under no path.
build_target layout -fno-omit-frame-pointer
mkdir -p "$TMP/image/lib64" "$TMP/image/app" "$TMP/image/proc" "$TMP/image/dev" "$TMP/image/sys"
ldd "$TMP/layout" | grep -oE '/[^ ]+' | sort -u | while read -r library; do cp "$library" "$TMP/image/lib64/"; done
mv "$TMP/layout" "$TMP/image/app/contained"

bundle() { # NAME
    mkdir -p "$TMP/$1/rootfs" "$TMP/$1/upper" "$TMP/$1/work"
    (cd "$TMP/$1" && runc spec)
    jq --arg group "/xprof-e2e-$$-$1" '.process.terminal = false | .root.readonly = false |
        .process.args = ["/lib64/ld-linux-x86-64.so.2", "--library-path", "/lib64", "/app/contained", "700"] |
        .linux.cgroupsPath = $group | del(.linux.resources) | del(.process.rlimits) |
        .linux.namespaces |= map(select(.type != "network"))' "$TMP/$1/config.json" >"$TMP/$1/new"
    mv "$TMP/$1/new" "$TMP/$1/config.json"
}
bundle one
bundle two

cat >"$TMP/containers.sh" <<'SCRIPT'
set -eu
for name in one two; do
    mount -t overlay overlay -o "lowerdir=$1/image,upperdir=$1/$name/upper,workdir=$1/$name/work" "$1/$name/rootfs"
    runc --root "$1/runc" run --bundle "$1/$name" "xprof-e2e-$2-$name" </dev/null &
done
wait
SCRIPT
run_containers() {
    unshare -m --propagation private bash "$TMP/containers.sh" "$TMP" $$
}
if ! run_containers >"$TMP/try" 2>&1 || [ -s "$TMP/try" ]; then
    cat "$TMP/try"
    skip "runc cannot run a container here: $(tail -n 1 "$TMP/try")"
fi

record -v -- unshare -m --propagation private bash "$TMP/containers.sh" "$TMP" $$
chain='(_start;)?(.*;)?main;outer;middle;inner;burn'
expect_stack "[^;]*;$chain" "$profile" 900
expect_share 98 "$chain" 'burn;?.*'
# One inode below both mounts, so one file and one table.
[ "$(grep -c 'contained: [0-9]* rows' "$errors")" = 1 ] || fail "the image's file was read more than once"
