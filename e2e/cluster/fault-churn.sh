#!/bin/bash
# A thousand pods within a minute, each there for a moment, running its program, and deleted at once: every one has its
# profile, no sample is lost, and none is in another pod's.
set -euo pipefail
. e2e/lib.sh
need_root
. e2e/agent/lib.sh
. e2e/faults/node.sh
. e2e/faults/sum.sh

OUT=short0 build_target layout -DPREFIX=even_
OUT=short1 build_target layout -DPREFIX=odd_
OUT=alien build_target layout -DPREFIX=alien_
start_node
node make silent 1 1
node busy silent 1 "sh -c 'while :; do $TMP/alien 5; sleep 0.1; done'"
start_node_agent --rate 499 --max-cpu 100
soon curl -sf "$page/readyz"
pods=1000
before=$SECONDS
node churn short $pods 20 "$TMP/short%" 25
took=$((SECONDS - before))
expect_sum | tail -n 1
missing=()
for ((i = 0; i < pods; i++)); do
    has_profiles "default/short-$i/c0" || missing+=("$i")
done
[ ${#missing[@]} = 0 ] || fail "${#missing[@]} of $pods pods have no profile: ${missing[*]}
$(curl -sf "$page/metrics" | grep -E '^xprof_(profile_samples_total|samples_unwanted|cgroup_events|discovery)')"
[ "$(metric xprof_profile_samples_unnamed_total)" = 0 ] || fail "samples without a name"
[ "$(find "$out" -mindepth 2 -maxdepth 2 | wc -l)" = $pods ] || fail "there are profiles of others"
python3 - "$out/default" <<'EOF' || fail "a sample is in another pod's profile"
import glob, gzip, re, sys
for path in glob.glob(sys.argv[1] + "/*/*/*.pb.gz"):
    odd = int(re.search(r"/short-(\d+)/", path)[1]) % 2
    data = gzip.open(path).read()
    if b"alien_" in data or (b"even_" if odd else b"odd_") in data:
        sys.exit(path)
EOF
echo "$pods pods in $took s: all named, 0 samples lost, 0 in another's profile;" \
    "$(metric xprof_cgroup_events_missed_total) groups missed, $(metric xprof_discovery_dropped_total) messages dropped"
end_agent
end_node
