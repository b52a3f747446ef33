#!/bin/bash
# The chart's alerts: each is tested with figures that make it fire and with some that do not, is in the runbook, and
# names metrics that an agent has.
# beside others
set -euo pipefail
. e2e/lib.sh
need_root
need promtool python3
. e2e/agent/lib.sh

rules=deploy/helm/xprof/alerts.yaml
promtool check rules $rules >"$TMP/check" || { cat "$TMP/check" && fail "promtool does not like the rules"; }
promtool test rules e2e/alerts/test.yaml >"$TMP/test" 2>&1 || { cat "$TMP/test" && fail "the alerts fail their tests"; }

mapfile -t alerts < <(sed -n 's/^ *- alert: //p' $rules)
[ ${#alerts[@]} -ge 10 ] || fail "there are ${#alerts[@]} alerts"
for alert in "${alerts[@]}"; do
    grep -q "^  - name: $alert fires$" e2e/alerts/test.yaml || fail "no test in which $alert fires"
    grep -q "^  - name: $alert is silent$" e2e/alerts/test.yaml || fail "no test in which $alert is silent"
    grep -q "^## $alert$" docs/runbook.md || fail "$alert is not in the runbook"
    grep -q "runbook: docs/runbook.md#${alert,,}$" $rules || fail "$alert does not lead to the runbook"
done

start_agent
curl -sf "$page/metrics" >"$TMP/metrics"
while read -r name; do
    grep -qE "^${name}[{ ]" "$TMP/metrics" || fail "no agent has the metric $name"
done < <(grep -oE 'xprof_[a-z_]+' $rules | sort -u)
for label in 'xprof_stacks_total{.*cut="true"' 'xprof_stacks_total{cause="tables-full"' \
    'xprof_stacks_total{cause="too-many-files"' 'xprof_samples_lost_total{cause="file-event"' \
    'xprof_samples_lost_total{cause="stack-dump"' 'xprof_config_reloads_total{outcome="error"' 'xprof_kube_errors_total{class=' \
    'xprof_runtime_calls_total{outcome="ok"' 'xprof_export_dropped_profiles_total{exporter=.*reason='; do
    grep -q "^$label" "$TMP/metrics" || fail "no agent has $label"
done
end_agent
echo "${#alerts[@]} alerts"
