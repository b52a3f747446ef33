#!/bin/bash
# Three containers run a stripped program of a layer that they share, in the order in which they are first seen: one has
# no debug file, one brings a debug file with the program's build ID and functions of other names, one the right one.
# Each names its own frames only, and so it is after a restart, with what is in the cache then.
# beside others
set -euo pipefail
. e2e/lib.sh
need_root
need go objcopy strip chroot
. e2e/agent/lib.sh

id=$(printf '%02x' {1..20})
for name in honest lies; do
    flags=()
    if [ $name = lies ]; then flags=(-Dinnermost=crafted -Dbetween=misleading); fi
    OUT=$name build_target inlines -g -static -Wl,--build-id=0x"$id" "${flags[@]}"
    objcopy --only-keep-debug "$TMP/$name" "$TMP/$name.debug"
done
strip -o "$TMP/inlines" "$TMP/honest"
for root in none lies honest; do
    mkdir -p "$TMP/$root.root/bin" "$TMP/$root.root/usr/lib/debug/.build-id/${id:0:2}"
    ln "$TMP/inlines" "$TMP/$root.root/bin/inlines" # one file, as on overlays with a common layer
    if [ $root != none ]; then cp "$TMP/$root.debug" "$TMP/$root.root/usr/lib/debug/.build-id/${id:0:2}/${id:2}.debug"; fi
done
containers=0

run() { # ROOT INDEX
    containers=$((containers + 1))
    ids[$2]=$(printf "$(printf %02x $containers)%.0s" {1..32})
    make_container "${ids[$2]}"
    (contained chroot "$TMP/$1.root" /bin/inlines 600000) &
    programs+=($!)
    at_exit "kill $!"
    await has_profiles "host/${ids[$2]:0:12}"
}
# Percent of a container's samples that have the function.
share() { # INDEX NAME
    percent_with "host/${ids[$1]:0:12}" "$2"
}

try() { # ROOT...: in this order
    local i=0 root
    rm -rf "$out"
    programs=()
    ids=()
    start_agent --host-processes off --rate 199 --max-rate 199 --max-cpu 100
    for root; do
        run "$root" $i
        i=$((i + 1))
    done
    sleep 3
    end_agent
    kill "${programs[@]}"
    i=0
    for root; do
        right=$(share $i innermost) wrong=$(share $i crafted)
        echo "$root: $right % of the samples have the right name, $wrong % another one"
        [ "$root" = lies ] || [ "$wrong" = 0 ] || fail "a neighbour's debug file names its frames"
        [ "$root" = honest ] || [ "$right" = 0 ] || fail "it has names that only a neighbour's debug file has"
        [ "$root" != honest ] || [ "$right" -ge 40 ] || fail "its own debug file is not used"
        [ "$root" != lies ] || [ "$wrong" -ge 40 ] || fail "its own debug file is not used"
        i=$((i + 1))
    done
}
try none lies honest
try lies none honest # the cache has the indexes of both
try honest lies none
