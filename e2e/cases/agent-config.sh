#!/bin/bash
# The agent's configuration: every mistake is one line that says where, flags win over variables over the file, what it
# prints it can read, and it is read again while running.
# beside others
set -euo pipefail
. e2e/lib.sh
need_root
. e2e/agent/lib.sh

config() { # LINE...
    printf '%s\n' "$@" >"$TMP/x.yaml"
}
bad() { # REGEX LINE...
    local regex=$1
    shift
    config "$@"
    expect_exit 2 "$regex" "$XPROF" agent --check-config --config "$TMP/x.yaml"
}
bad 'x.yaml:2: there is no option "intervall"' 'rate: 49' 'intervall: 10s'
bad 'x.yaml:1: rate: 5000 is not in the range 1..1000' 'rate: 5000'
bad 'x.yaml:1: kernel: "maybe" is neither on nor off' 'kernel: maybe'
bad 'x.yaml:2: ' 'rate: 1' '  bad: [indent'
bad 'x.yaml:2: rate is set twice: first in line 1' 'rate: 1' 'rate: 2'
bad 'x.yaml:1: anchors and aliases' 'events: *all'
bad 'exporter 1: url is needed' 'exporters: [{name: a, type: pyroscope}]'
bad 'x.yaml:1: type: unknown value "graphite"' 'exporters: [{name: a, type: graphite, url: x}]'
bad 'x.yaml:3: there is no option "exporters.0.ulr"' 'exporters:' '  - {name: a, type: pyroscope, url: "http://x"' '    , ulr: y}'
bad '--pod-selector: column [0-9]' 'pod-selector: "a in"'
bad 'two exporters have the name a' 'exporters: [{name: a, type: otlp, url: x}, {name: a, type: otlp, url: y}]'
bad 'rate is above --max-rate' 'rate: 900'
bad 'the URL must begin with http' 'pyroscope-url: pyroscope:4040'
bad 'target a/b: a name needs' 'exporters: [{name: a/b, type: directory, path: /tmp}]'
bad 'a user needs a password file' 'pyroscope-url: http://x' 'user-name: u'
bad 'localhost is not an ADDRESS:PORT' 'listen: localhost'
bad 'annotation-prefix: a domain is needed' 'annotation-prefix: xprof.io/'
bad 'events: cpu is listed twice' 'events: [cpu, cpu]'
bad 'x.yaml:2: the name heap is taken by the event memory' 'events:' '  - {name: heap, probe: "syscall:openat"}'
bad 'x.yaml:1: probe a: syscall:opennat: this kernel has no such system call; near it: ' 'events: [{name: a, probe: "syscall:opennat"}]'
bad 'x.yaml:1: there is no option "events.0.lenght"' 'events: [{name: a, probe: "syscall:openat", lenght: 1}]'
bad 'x.yaml:18: p16 is one too many: at most 16 probes' 'events:' "$(for i in {0..99}; do echo "  - {name: p$i, probe: \"syscall:openat\"}"; done)"
expect_exit 2 'x.yaml: cannot be read: No such file' "$XPROF" agent --config "$TMP/nowhere/x.yaml"
expect_exit 2 'XPROF_RATE: "fast" is not a number' env XPROF_RATE=fast "$XPROF" agent --check-config
expect_exit 2 'no destination for profiles' "$XPROF" agent
expect_exit 1 'is not an ADDRESS:PORT' "$XPROF" agent --output-dir "$out" --state-dir "$state" --listen localhost \
    --exclusive=off

config 'rate: 20' 'interval: 30s' 'pod-labels: [app, "app.kubernetes.io/version"]' 'kernel: off'
said() { # REGEX ENVIRONMENT... -- OPTION...
    local regex=$1 environment=()
    shift
    while [ "$1" != -- ]; do environment+=("$1") && shift; done
    shift
    env "${environment[@]}" "$XPROF" agent --print-config --config "$TMP/x.yaml" "$@" | grep -xE "$regex" >/dev/null || fail "no $regex"
}
said 'rate: 20' --
said 'rate: 30' XPROF_RATE=30 --
said 'rate: 40' XPROF_RATE=30 -- --rate 40
said 'kernel: off' --
said '  - "app.kubernetes.io/version"' --
# Another machine's files need not be here.
config 'pyroscope-url: https://x' 'ca-file: /nowhere'
"$XPROF" agent --check-config --config "$TMP/x.yaml" || fail "a configuration cannot be checked where its files are not"

# As users of other profilers write it; and lists that only a file can hold are printed, too.
config 'rate: 20' 'targets_only: true' 'host-processes: yes' 'exclude-namespaces: kube-*, secret' \
    'default_target: {service_name: other}' 'exporters: [{name: a, type: directory, path: /a}]' \
    'targets: [{container_id: x*, labels: {team_a: b}}]' 'events: [cpu, {name: opens, probe: "syscall:openat", default: on}]'
said 'targets-only: on' --
said 'host-processes: "on"' --
said '  - "secret"' --
said 'exporters: \[\{"name": "a", "type": "directory", "path": "/a"\}\]' --
said 'targets: \[\{"container_id": "x\*", "labels": \{"team_a": "b"\}\}\]' --
said '  - \{"name": "opens", "probe": "syscall:openat", "default": "on"\}' --
said 'default-target: \{"service_name": "other"\}' --
"$XPROF" agent --print-config --config "$TMP/x.yaml" >"$TMP/y.yaml"
"$XPROF" agent --print-config --config "$TMP/y.yaml" | cmp - "$TMP/y.yaml" || fail "what it prints reads differently"

# While it runs: by a change of the file, by SIGHUP; a mistake changes nothing.
config 'rate: 20'
start_agent --config "$TMP/x.yaml"
[ "$(metric xprof_sampling_rate_hertz)" = 20 ] || sleep 1
runs_at() {
    [ "$(metric xprof_sampling_rate_hertz)" = "$1" ]
}
await runs_at 20
config 'rate: 70'
await runs_at 70
config 'rate: fast'
failed_reloads() {
    [ "$(metric xprof_config_reloads_total outcome=.error)" -ge "$1" ]
}
await failed_reloads 1
runs_at 70 || fail "a mistake changed something"
grep -q 'configuration not reloaded, the previous one stays in effect: .*x.yaml:1: rate: "fast"' "$errors" || fail "the mistake was not told"
config 'rate: 71' 'stack-memory: 32M' 'kernel: off'
kill -HUP "$agent_pid"
await runs_at 71
for option in stack-memory kernel; do
    grep -q -- "--$option: the new value takes effect at the next start" "$errors" || fail "it is not told that $option needs a start"
done
end_agent
