#!/bin/bash
# An agent shows in each interval who ended waits, and which waits go on.
set -euo pipefail
. e2e/lib.sh
need_root
need go
. e2e/agent/lib.sh

build_target wakeup -pthread
cp "$TMP/wakeup" "$TMP/wakes-in-agent"
cp "$(command -v sleep)" "$TMP/asleep-in-agent"
INTERVAL=2s start_agent --events wakeup
"$TMP/asleep-in-agent" 40 &
at_exit "kill $!"
has_profiles() { # NAME NUMBER
    local n
    n=$(compgen -G "$out/host/$1/wakeup-*.pb.gz" | wc -l)
    [ "$n" -ge "$2" ]
}
await has_profiles asleep-in-agent 1 # the programs for an event are loaded when somebody wants it
"$TMP/wakes-in-agent" >"$TMP/own"
for name in wakes-in-agent till; do await has_profiles $name 1; done
end_agent

# The stacks of all profiles of a process.
expect_stacks() { # NAME REGEX WHAT
    local f
    for f in "$out/host/$1"/wakeup-*.pb.gz; do go tool pprof -traces -symbolize=none "$f"; done >"$TMP/traces" 2>/dev/null
    grep -q "$2" "$TMP/traces" || fail "$3"
}
expect_stacks asleep-in-agent '\[still waiting\]' "a sleeper does not still wait"
expect_stacks wakes-in-agent ' till$' "nobody was woken up by till"
expect_stacks wakes-in-agent ' send_order$' "the stack of till is missing"
expect_stacks wakes-in-agent '\[interrupt\]' "nobody was woken up by a timer"
expect_stacks till '\[sleep\]' "till did not sleep"
