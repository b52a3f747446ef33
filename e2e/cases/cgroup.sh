#!/bin/bash
# --cgroup: the group and those below it, in the unified hierarchy and in those of version 1.
# beside others
set -euo pipefail
. e2e/lib.sh
need_root

for name in inside below outside; do
    OUT=$name build_target layout
done

run_in() { # CGROUP PROGRAM
    # shellcheck disable=SC2016
    bash -c 'echo $$ >"$0/cgroup.procs" && exec "$1" 60000' "$1" "$2" &
    at_exit "kill $!"
}

below_only() { # CGROUP
    record -d 400ms --cgroup "$1/nested"
    expect_stack 'below;(.*;)?main;outer;middle;inner;burn' "$profile" 15
    expect_no_stack '(inside|outside);.*'
}

in_hierarchy() { # FOLDER
    local group=$1/xprof-e2e-$$
    mkdir "$group" "$group/nested" 2>/dev/null || return 0
    at_exit "for try in 1 2 3 4 5 6 7 8; do rmdir $group/nested $group 2>/dev/null && break || sleep 0.1; done"
    run_in "$group" "$TMP/inside"
    local inside=$!
    run_in "$group/nested" "$TMP/below"
    local below=$!
    record -d 700ms --cgroup "$group"
    echo "$group"
    expect_samples 50
    expect_complete 80 # a busy machine may still be reading the files of everybody else
    expect_share 100 '(inside|below|bash|xprof);.*'
    expect_stack 'inside;(.*;)?main;outer;middle;inner;burn' "$profile" 15
    expect_stack 'below;(.*;)?main;outer;middle;inner;burn' "$profile" 15
    below_only "$group"
    kill "$inside" "$below"
    wait "$inside" "$below" 2>/dev/null || true
    rmdir "$group/nested" "$group"
    done+=("$1")
}

"$TMP/outside" 60000 &
at_exit "kill $!"
done=()
export CACHE=$TMP/cache
while read -r _ mount kind _; do
    case $kind:$mount in
    cgroup2:* | cgroup:*/pids) in_hierarchy "$mount" ;;
    esac
done < <(grep -E ' cgroup2? ' /proc/mounts)
[ ${#done[@]} -gt 0 ] || skip "no cgroup can be made here"

expect_exit 2 "--cgroup $TMP: not a directory of a cgroup file system" "$XPROF" record --cgroup "$TMP"
expect_exit 1 "--cgroup /nowhere: No such file" "$XPROF" record --cgroup /nowhere
systemd=$(grep -E 'name=systemd' /proc/mounts | cut -d' ' -f2 | head -n 1)
[ -z "$systemd" ] || expect_exit 1 'this hierarchy has no controller' "$XPROF" record --cgroup "$systemd"
