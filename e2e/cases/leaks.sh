#!/bin/bash
# Nothing that was allocated is forgotten, neither after a recording nor after one that failed; and what an agent holds does
# not grow from interval to interval.
# beside others
set -euo pipefail
. e2e/lib.sh
need_root
. e2e/agent/lib.sh

library=$("${CC:-gcc}" -print-file-name=liblsan.so)
[ -f "$library" ] || skip "this compiler has no leak sanitizer"
cat >"$TMP/leak.c" <<'C'
#include <stdlib.h>
int main(void) { for (int i = 0; i < 10; i++) { volatile char *p = malloc(100); p[0] = 1; p = 0; } }
C
"${CC:-gcc}" "$TMP/leak.c" -o "$TMP/leak"
if LD_PRELOAD=$library "$TMP/leak" 2>/dev/null; then skip "the leak sanitizer does not work here"; fi

OUT=busy build_target layout
"$TMP/busy" 60000 &
at_exit "kill $!"
outputs=()
for suffix in pb.gz html svg collapsed speedscope.json; do
    outputs+=(-o "$TMP/out.$suffix")
done
cd "$TMP"
expect_exit 0 '' env LD_PRELOAD="$library" "$XPROF" record -v --no-cache -a -d 2s --top 10 --summary s.json "${outputs[@]}"
expect_exit 0 '' env LD_PRELOAD="$library" "$XPROF" record --cache-dir "$TMP/cache" -d 300ms -p $!
expect_exit 1 'there is no process' env LD_PRELOAD="$library" "$XPROF" record -p 4194303 -o x.svg
expect_exit 1 'cannot run /nowhere' env LD_PRELOAD="$library" "$XPROF" record -o x.svg -- /nowhere
expect_exit 2 'unknown value .nonsense' env LD_PRELOAD="$library" "$XPROF" record -a -e nonsense
expect_exit 0 '' env LD_PRELOAD="$library" "$XPROF" check

# The agent: profiles, reloads, processes that come and go.
make_container "$(printf 'ab%.0s' {1..32})"
printf '#!/bin/sh\nLD_PRELOAD=%s exec %s "$@"\n' "$library" "$XPROF" >"$TMP/checked"
chmod +x "$TMP/checked"
echo 'rate: 101' >x.yaml
XPROF=$TMP/checked start_agent --config x.yaml --host-processes off
(contained "$TMP/busy" 60000) &
at_exit "kill $!"
profiles() {
    find "$out" -name '*.pb.gz' 2>/dev/null | wc -l
}
has_more_profiles() { # THAN
    [ "$(profiles)" -gt "$1" ]
}
runs_at() { # RATE
    [ "$(metric xprof_sampling_rate_hertz)" = "$1" ]
}
round() { # RATE: a reload, another process, and an interval
    echo "rate: $1" >x.yaml
    kill -HUP "$agent_pid"
    (contained "$TMP/busy" 100)
    await runs_at "$1"
    await has_more_profiles "$(profiles)"
}
held() { # descriptors, threads and resident KiB of the agent and its parser
    local p
    for p in $agent_pid $(pgrep -P "$agent_pid"); do
        echo "$(find "/proc/$p/fd" -mindepth 1 | wc -l) $(find "/proc/$p/task" -mindepth 1 -maxdepth 1 | wc -l)" \
            "$(awk '/^VmRSS/ { print $2 }' "/proc/$p/status")"
    done | awk '{ fds += $1; threads += $2; kib += $3 } END { print fds, threads, kib }'
}
grew_by() { # DESCRIPTORS THREADS KIB: no more than that since `before`
    paste -d ' ' <(echo "$before") <(held) | awk -v f="$1" -v t="$2" -v k="$3" '{ exit !($4 <= $1 + f && $5 <= $2 + t && $6 <= $3 + k) }'
}
for rate in 90 91 92; do round $rate; done
before=$(held)
for rate in 80 81 82 83 84 85; do round $rate; done
# Less than one descriptor per round: the shell's files are sampled for the first time at some time.
(await grew_by 5 0 4096) 2>/dev/null || fail "descriptors, threads, KiB: $before, and six intervals later $(held)"
echo "descriptors, threads, KiB: $before, $(held)"
end_agent
