# shellcheck shell=bash
# What a switch of threads costs, for benchmarks of what follows the scheduler: bench/targets/pingpong.c plays while the
# tools run. To be sourced after bench/lib/agent.sh; program_of COMMAND says by which eBPF program it is known that the
# tool follows ("": by half a second).

gcc -D_GNU_SOURCE -O2 -o "$TMP/pingpong" bench/targets/pingpong.c

"$TMP/pingpong" 1 >"$TMP/switches" &
player=$!
at_exit "kill $player"
await test -s "$TMP/switches"

# ns of a switch: the lower quartile of what is measured next, after what began before, with switches less without.
switch_ns() {
    local have
    have=$(wc -l <"$TMP/switches")
    await_lines $((have + 41))
    echo $(($(quartile 1) - $(quartile 2)))
}
quartile() { # COLUMN
    sed -n "$((have + 2)),$((have + 41))p" "$TMP/switches" | cut -d' ' -f"$1" | sort -g | sed -n 10p
}
await_lines() { # N
    while [ "$(wc -l <"$TMP/switches")" -lt "$1" ]; do sleep 0.1; done
}
# Appends to FILE the ns of a switch while COMMAND runs, and follows the switches.
beside() { # FILE COMMAND...
    local file=$1 tool program
    shift
    program=$(program_of "$1")
    "$@" >"$TMP/tool.out" 2>&1 &
    tool=$!
    [ -z "$program" ] || await holds_program "$program" $tool
    sleep 0.5
    switch_ns >>"$TMP/$file"
    kill -TERM $tool
    wait $tool 2>/dev/null || true
}
median() { # FILE
    sort -g "$TMP/$1" | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'
}
