#!/bin/bash
# Targets of the configuration: by program with labels of their own, by pid, by container id; and nobody else when only
# they are wanted.
# beside others
set -euo pipefail
. e2e/lib.sh
need_root
. e2e/agent/lib.sh

for name in wanted shop other; do OUT=$name build_target layout; done
"$TMP/wanted" 600000 &
at_exit "kill $!"
"$TMP/other" 600000 &
at_exit "kill $!"
"$TMP/other" 600000 &
chosen=$!
at_exit "kill $chosen"

make_container "$(printf 'ab%.0s' {1..32})"
(contained "$TMP/shop" 600000) &
shop=$!
at_exit "kill $shop; wait $shop"

cat >"$TMP/x.yaml" <<EOF
targets:
  - comm: want*
    labels: {service_name: by-name, team: a}
  - pid: $chosen
    labels: {service_name: by-pid}
  - container-id: abab*
    labels: {service_name: by-id, namespace: test, pod: p, container: c}
targets-only: on
EOF
start_agent --config "$TMP/x.yaml"
await has_profiles host/by-name
await has_profiles host/by-pid
await has_profiles test/p/c
end_agent
for f in host/by-name host/by-pid test/p/c; do has_function $f burn || fail "no function in $f"; done
folders=$(cd "$out" && find . -name '*.pb.gz' -printf '%h\n' | sort -u | paste -sd' ')
[ "$folders" = "./host/by-name ./host/by-pid ./test/p/c" ] || fail "there are profiles of $folders"
[ "$(find "$out/host/by-pid" -name '*.gz' | while read -r f; do go tool pprof -raw "$f" 2>/dev/null; done | grep -c "$TMP/wanted")" = 0 ] ||
    fail "a profile holds another program"

# A pid that is none, a target that matches nothing.
bad() { # REGEX TARGET
    printf 'targets:\n  - %s\n' "$2" >"$TMP/y.yaml"
    expect_exit 2 "$1" "$XPROF" agent --check-config --config "$TMP/y.yaml"
}
bad 'y.yaml:2: pid: "x" is not a process ID' '{pid: x}'
bad 'target 1: one of container-id' '{labels: {a: b}}'
bad 'target 1: one of container-id' '{pid: 1, image: x}'
bad 'y.yaml:2: there is no option "targets.0.nmae"' '{comm: x, nmae: y}'
