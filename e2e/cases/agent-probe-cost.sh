#!/bin/bash
# A configured probe that is hit a million times a second in a container costs what it may and no more: it is taken off,
# comes back, and the metrics say how long it was on. A probe beside it that costs little is on all the time.
set -euo pipefail
. e2e/lib.sh
need_root
need_kernel 6.6 'uprobe_multi links'
. e2e/agent/lib.sh

cat >"$TMP/x.yaml" <<'END'
events:
  - {name: ticks, probe: "uprobe:ticks:tick", default: on}
  - {name: opens, probe: "syscall:openat", filter: 'filename == "/etc/hostname-of-*"', default: on}
END
build_target ticks
alone=$("$TMP/ticks" 4)
INTERVAL=2s start_agent --host-processes off --config "$TMP/x.yaml"
make_container "$(printf '7a%.0s' {1..32})"
counted() { # SECONDS: ticks that a process counts in a container meanwhile
    (contained "$TMP/ticks" "$1")
}
ticks=$(counted 4)
of() { # METRIC [LABELS]
    metric "xprof_probe_$1" "event=\"ticks\"${2:+,$2}"
}
on=$(of seconds_total 'on="true"') off=$(of seconds_total 'on="false"')
echo "$ticks ticks of $alone; on for $on s, off for $off s, cost $(of cost_seconds_total) s"
grep -q 'ticks: its probes cost more than 5 % of a CPU' "$errors" || fail "it is not said that the probe is taken off"
is "$(of rests_total)" '>=' 1 || fail "the probe never rests"
is "$off" '>' "$on" || fail "it was off for $off s, and on for $on s"
is "$(of cost_seconds_total)" '<' 1 || fail "it cost $(of cost_seconds_total) s"
is "$(of hits_total)" '>' 10000 || fail "it was hit $(of hits_total) times"
is "$ticks" '>=' "0.5 * $alone" || fail "the program is slowed down"
[ "$(metric xprof_probe_rests_total 'event="opens"')" = 0 ] || fail "a probe rests that costs nothing"

# It comes back, and a process that comes while it rests is met.
before=$(of hits_total)
counted 8 >/dev/null &
comes_back() {
    is "$(of hits_total)" '>' "$before + 1000"
}
await comes_back
await has_function host/7a7a7a7a7a7a main
end_agent
