#!/bin/bash
# Names of a file come from its index when they are requested for the third time, and from the disk's when an agent starts
# again; a damaged one is built again. All say what reading the file says.
# beside others
set -euo pipefail
. e2e/lib.sh
need_root
need go
. e2e/agent/lib.sh

cp "$(command -v bash)" "$TMP/many" # thousands of functions, of which each interval shows others
cat >"$TMP/script" <<'END'
while :; do
    for i in {1..300}; do a[i]=$((i * i)) b=${a[i]//1/one} c[${#b}]=$b; done
    f() { local x=$1; [ "$x" -lt 1 ] || f $((x - 1)); }
    f 50
    printf -v d '%s,' "${a[@]}"
    case $d in *one*) : ;; *[0-9]*) IFS=, read -ra e <<<"$d" ;; esac
done
END
make_container "$(printf 'ef%.0s' {1..32})"
(contained "$TMP/many" "$TMP/script") &
at_exit "kill $!"
pod=host/efefefefefef

at_least() { # NUMBER NAME [LABELS_REGEX]
    [ "$(metric "${@:2}")" -ge "$1" ]
}
named() { # WHEN: nearly all samples have a function that is always there
    local percent
    percent=$(percent_with $pod execute_command_internal)
    echo "$1: $percent % in execute_command_internal"
    [ "$percent" -ge 95 ] || fail "$1: frames without names"
}
agent() {
    start_agent --host-processes off --rate 299 --max-rate 299 --max-cpu 100
    await has_profiles $pod
}

agent
await at_least 1 xprof_name_indexes_total built
await compgen -G "$TMP/cache/*.xpf"
sleep 2
end_agent
named "read, then by an index"

rm -r "$out"
agent
await at_least 1 xprof_name_indexes_total loaded
sleep 2
end_agent
named "by the disk's index"

rm -r "$out"
for f in "$TMP"/cache/*.xpf; do
    printf 'damage' | dd of="$f" bs=1 seek=$(($(stat -c %s "$f") / 2)) conv=notrunc status=none
done
agent
await at_least 1 xprof_name_indexes_total built
at_least 1 xprof_name_indexes_total loaded && fail "a damaged index was used"
sleep 2
end_agent
named "after damage"
