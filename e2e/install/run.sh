#!/bin/bash
# What is deployed, without a cluster: helm has no complaint, a typo is refused, what comes out is what Kubernetes takes;
# the systemd unit is well-formed, and what it leaves the agent suffices.
set -euo pipefail
. e2e/lib.sh
need python3 jq
bin=$(e2e/kube/build.sh --find) || skip "helm is not built: e2e/kube/build.sh"
chart=deploy/helm/xprof
python=$(e2e/install/python.sh) || skip "there is no kubernetes-validate"

"$bin/helm" lint --strict $chart >"$TMP/lint" || { cat "$TMP/lint" && fail "helm lint"; }

# A typo is refused, and named.
refused() { # WORD OPTION...
    local word=$1
    shift
    if "$bin/helm" template x $chart "$@" >"$TMP/out" 2>"$TMP/why"; then fail "this was taken: $*"; fi
    grep -q -- "$word" "$TMP/why" || { cat "$TMP/why" && fail "$* is refused, but not because of $word"; }
}
refused pyrosocpe --set pyrosocpe.url=http://x
refused ulr --set pyroscope.ulr=http://x
refused url --set pyroscope.url=pyroscope:4040
refused targeting --set targeting=some
refused intervall --set config.intervall=5s
refused rate --set config.rate.x=1
refused exporters --set 'config.exporters[0].name=a'
refused utl --set 'config.exporters[0].name=a,config.exporters[0].type=otlp,config.exporters[0].utl=b'
refused capabilities --set 'capabilities={CAP_BPF}'
refused port --set port=99999
refused networkPolicy --set networkPolicy.enabled=maybe
refused livenessProbe --set livenessProbe.exec.command=x
refused secretKeys --set pyroscope.secret=s
refused pyroscope.secret --set 'pyroscope.secretKeys={token}'
refused password --set pyroscope.userName=u

# Each way to install is what several versions of Kubernetes take.
everything='privileged=true,podEvents=true,networkPolicy.from[0].namespaceSelector.matchLabels.a=b,targetsSecret=t,seLinuxOptions.type=spc_t,statePath=/var/lib/xprof,priorityClassName=system-node-critical
pyroscope.secret=s,pyroscope.secretKeys={password,ca.crt},pyroscope.userName=u,kube=cri,otlp.url=http://o,config.kernel=off
config.targets[0].comm=x,config.targets[0].labels.a=1,config.default-target.b=c,config.host-processes=true
kube=kubelet,imagePullSecrets[0].name=r,extraEnv[0].name=A,extraEnv[0].value=b,podLabels.a=b,podAnnotations.c=d'
n=0
for sets in '' $everything; do
    n=$((n + 1))
    for version in 1.25 1.29 1.30 1.33 1.35 1.37; do
        "$bin/helm" template x $chart --namespace profiling --kube-version $version.0 \
            --set "pyroscope.url=http://p:4040${sets:+,$sets}" >"$TMP/$n.yaml"
        "${python%/python3}/kubernetes-validate" -k $version --strict "$TMP/$n.yaml" >"$TMP/out" 2>&1 ||
            { cat "$TMP/out" && fail "Kubernetes $version does not take the chart with: $sets"; }
    done
    # what the agent would read is what it understands
    "$python" -c 'import sys, yaml
for d in yaml.safe_load_all(sys.stdin):
    if d and d["kind"] == "ConfigMap" and "xprof.yaml" in d["data"]:
        print(d["data"]["xprof.yaml"])' <"$TMP/$n.yaml" >"$TMP/xprof.yaml"
    "$XPROF" agent --config "$TMP/xprof.yaml" --check-config || fail "the agent does not understand its configuration"
done
"$bin/kubectl" kustomize deploy/manifests >"$TMP/kustomized.yaml" || fail "kustomize"
"${python%/python3}/kubernetes-validate" -k 1.35 --strict "$TMP/kustomized.yaml"

# Either monitor finds the pods' port by labels that they have.
for monitor in PodMonitor ServiceMonitor; do
    "$bin/helm" template x $chart --set "${monitor,}.enabled=true,${monitor,}.labels.release=prometheus" >"$TMP/monitor.yaml"
    "$python" - $monitor "$TMP/monitor.yaml" <<'PY' || fail "the $monitor selects no pods"
import sys, yaml
docs = [d for d in yaml.safe_load_all(open(sys.argv[2])) if d]
of = {d["kind"]: d for d in docs if d["kind"] in (sys.argv[1], "Service", "DaemonSet")}
monitor, pod = of[sys.argv[1]], of["DaemonSet"]["spec"]["template"]
has = lambda labels, wanted: all(labels.get(k) == v for k, v in wanted.items())
seen = of["Service"]["metadata"]["labels"] if "Service" in of else pod["metadata"]["labels"]
assert monitor["metadata"]["labels"]["release"] == "prometheus"
assert has(seen, monitor["spec"]["selector"]["matchLabels"])
assert "Service" not in of or has(pod["metadata"]["labels"], of["Service"]["spec"]["selector"])
ends = monitor["spec"].get("endpoints") or monitor["spec"]["podMetricsEndpoints"]
assert ends[0]["port"] in [p["name"] for p in pod["spec"]["containers"][0]["ports"]]
PY
done

# What of the pods' specification follows from the values, both in the DaemonSet and in the check of `helm test`.
specified() { # EXPECTED_JSON JQ_FILTER OPTION...
    local expected=$1 filter=$2
    shift 2
    "$bin/helm" template x $chart "$@" | "$python" -c 'import json, sys, yaml
for d in yaml.safe_load_all(sys.stdin):
    if d and d["kind"] in ("DaemonSet", "Pod"):
        json.dump(d["spec"]["template"] if d["kind"] == "DaemonSet" else d, sys.stdout)' | jq -cS "$filter" >"$TMP/specified"
    expected=$(jq -cS . <<<"$expected")
    [ "$(cat "$TMP/specified")" = "$expected"$'\n'"$expected" ] ||
        { cat "$TMP/specified" && fail "$filter is not $expected with: $*"; }
}
digest=sha256:$(printf '%064d' 7)
specified '"xprof:0.1.0"' '.spec.containers[0].image'
specified "\"r/x@$digest\"" '.spec.containers[0].image' --set image.repository=r/x,image.digest="$digest"
specified "\"r/x:2@$digest\"" '.spec.containers[0].image' --set image.repository=r/x,image.tag=2,image.digest="$digest"
refused digest --set image.digest=sha256:1
nodes=.spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms
own='{"key": "kubernetes.io/arch", "operator": "In", "values": ["amd64"]},
    {"key": "eks.amazonaws.com/compute-type", "operator": "NotIn", "values": ["fargate"]},
    {"key": "type", "operator": "NotIn", "values": ["virtual-kubelet"]}'
specified "[{\"matchExpressions\": [$own]}]" "$nodes"
theirs='{"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
    {"matchExpressions": [{"key": "a", "operator": "Exists"}]}, {"matchFields": [{"key": "metadata.name", "operator": "In",
    "values": ["n"]}]}]}}, "podAffinity": {}}'
specified "[{\"matchExpressions\": [{\"key\": \"a\", \"operator\": \"Exists\"}, $own]}, {\"matchExpressions\": [$own],
    \"matchFields\": [{\"key\": \"metadata.name\", \"operator\": \"In\", \"values\": [\"n\"]}]}]" "$nodes" \
    --set-json "affinity=$theirs"
specified null .spec.affinity --set-json 'nodeRequirements=[]'
refused nodeRequirements --set-json 'nodeRequirements=[{"key": "a", "operator": "Is"}]'
context='.spec.containers[0].securityContext'
specified '{"type": "Unconfined"}' "$context.appArmorProfile" --kube-version 1.30.0
specified null "$context.appArmorProfile" --kube-version 1.29.9
specified '["unconfined"]' '[.metadata.annotations | to_entries[] | select(.key | startswith("container.apparmor")).value]' \
    --kube-version 1.29.9
specified '["localhost/p"]' '[.metadata.annotations | to_entries[] | select(.key | startswith("container.apparmor")).value]' \
    --kube-version 1.29.9 --set appArmorProfile.type=Localhost,appArmorProfile.localhostProfile=p
specified '[]' '[.metadata.annotations | to_entries[] | select(.key | startswith("container.apparmor")).value]'
specified null "$context.appArmorProfile" --set-json 'appArmorProfile={"type": null}'
specified '{"type": "spc_t"}' "$context.seLinuxOptions" --set seLinuxOptions.type=spc_t
specified '{"allowPrivilegeEscalation": false, "appArmorProfile": {"type": "Unconfined"}, "capabilities": {"add": ["BPF"],
    "drop": ["ALL"]}, "procMount": "Default", "readOnlyRootFilesystem": false, "runAsUser": 0,
    "seccompProfile": {"type": "RuntimeDefault"}}' "$context" --set 'capabilities={BPF}' \
    --set securityContext.readOnlyRootFilesystem=false,securityContext.procMount=Default
refused appArmorProfile --set appArmorProfile.type=unconfined
refused seLinuxOptions --set seLinuxOptions.kind=spc_t

# The node's tracefs is mounted for probes that are described there, and for no others.
tracing() { # EXPECTED EVENTS
    local have
    have=$("$bin/helm" template x $chart --show-only templates/daemonset.yaml --set-json "config.events=$2" |
        grep -c /sys/kernel/tracing || true)
    [ "$have" = "$1" ] || fail "/sys/kernel/tracing is there $have times, not $1, with events $2"
}
tracing 0 '["cpu"]'
tracing 0 '["cpu", {"name": "a", "probe": "uprobe:libc.so.6:read"}]'
tracing 2 '[{"name": "a", "probe": "syscall:read"}]'
tracing 2 '["cpu", {"name": "a", "probe": "tracepoint:sched:sched_switch"}]'

# What the agents may read of kubelets: no more than pods, where kubelets tell them apart.
kubelet_access() { # EXPECTED OPTION...
    local expected=$1 have
    shift
    have=$("$bin/helm" template x $chart --show-only templates/rbac.yaml "$@" | grep -o 'nodes/[a-z]*' || true)
    [ "$have" = "$expected" ] || fail "'$have', not '$expected' with: $*"
}
kubelet_access ''
kubelet_access nodes/proxy --set kube=kubelet --kube-version 1.32.9
kubelet_access nodes/pods --set kube=kubelet --kube-version v1.33.0-gke.1
kubelet_access nodes/pods --set kube=kubelet --kube-version 1.37.0
kubelet_access nodes/proxy --set kube=kubelet,kubeletAccess=proxy --kube-version 1.37.0
kubelet_access nodes/pods --set kube=kubelet,kubeletAccess=pods --kube-version 1.30.0
refused kubeletAccess --set kubeletAccess=all

# The port is closed to all but those that the values name, once they name one.
policy() { # EXPECTED OPTION...
    local expected=$1
    shift
    "$bin/helm" template x $chart "$@" >"$TMP/out"
    "$python" -c 'import sys, yaml
for d in yaml.safe_load_all(sys.stdin):
    if d and d["kind"] == "NetworkPolicy":
        (rule,) = d["spec"]["ingress"]
        print(rule["ports"][0]["port"], *rule.get("from", ["everybody"]))' <"$TMP/out" >"$TMP/policy"
    [ "$(cat "$TMP/policy")" = "$expected" ] || { cat "$TMP/policy" && fail "not the policy '$expected' with: $*"; }
}
policy ''
policy "metrics {'podSelector': {}}" --set-json 'networkPolicy.from=[{"podSelector": {}}]'
policy '' --set-json 'networkPolicy.from=[{"podSelector": {}}]' --set networkPolicy.enabled=false
policy 'metrics everybody' --set networkPolicy.enabled=true

# The alerts are those of the file, which e2e/cases/alerts.sh tests.
"$bin/helm" template x $chart --show-only templates/prometheusrule.yaml --set prometheusRule.enabled=true \
    --set prometheusRule.labels.release=prometheus,prometheusRule.runbookUrl=https://wiki.test/xprof >"$TMP/rules.yaml"
"$python" - "$TMP/rules.yaml" $chart/alerts.yaml <<'PY' || fail "the PrometheusRule is not the file of alerts"
import sys, yaml
rule, file = yaml.safe_load(open(sys.argv[1])), yaml.safe_load(open(sys.argv[2]))
assert rule["kind"] == "PrometheusRule" and rule["metadata"]["labels"]["release"] == "prometheus"
for r in file["groups"][0]["rules"]:
    r["annotations"]["runbook"] = r["annotations"]["runbook"].replace("docs/runbook.md", "https://wiki.test/xprof")
assert rule["spec"] == file
PY

# What a running agent does not read again, and nothing else, replaces the pods.
checksum() { # OPTION=VALUE
    "$bin/helm" template x $chart --set "config.$1" | grep checksum/fixed-options
}
[ "$(checksum rate=20)" = "$(checksum rate=30)" ] || fail "another rate replaces the pods"
[ "$(checksum kernel=off)" != "$(checksum kernel=on)" ] || fail "kernel=off does not reach the agents"
sed -n '/ fixed\[\] = {/,/};/p' agent/cli/agent/agent_options.c | grep -o 'AT([a-z_]*)' | tr _ - |
    sed -E 's/AT\((.*)\)/\1/; s/^(label|debug-dir)s$/\1/' | sort >"$TMP/fixed"
sed -n 's/^{{- pick $c \(.*\) | toJson.*/\1/p' $chart/templates/_helpers.tpl | tr -d '"' | tr ' ' '\n' | sort >"$TMP/picked"
diff "$TMP/fixed" "$TMP/picked" || fail "the agent and the chart differ in what cannot be read again"

# A registry that wants a secret gives it to the check of `helm test`, too.
[ "$(grep -c 'imagePullSecrets' "$TMP/$n.yaml")" = 2 ] || fail "not all pods have the secret for their image"

# The next step is one that works, with these values. Notes are shown by clusters only: here they are made an object.
cp -r $chart "$TMP/noted"
printf 'notes: |\n{{ include (print $.Template.BasePath "/NOTES.txt") . | indent 4 }}\n' >"$TMP/noted/templates/notes.yaml"
notes() { # REGEX OPTION...
    local regex=$1
    shift
    "$bin/helm" template x "$TMP/noted" --show-only templates/notes.yaml "$@" >"$TMP/out"
    grep -qE -- "$regex" "$TMP/out" || fail "no $regex in the notes of: $*"
}
notes 'annotate pod POD xprof.io/profile=true' --set targeting=annotation
notes 'annotate namespace NAMESPACE xprof.io/profile=true' --set targeting=namespace
notes 'annotate pod POD example.com/profile=false' --set targeting=all,config.annotation-prefix=example.com
notes 'port-forward POD-OF-THAT-NODE 7055' --set targeting=all
notes 'No backend is configured' --set targeting=all
! (notes 'port-forward POD-OF-THAT-NODE 7055' --set targeting=all
notes 'No backend is configured' --set config.otlp-url=http://o) 2>/dev/null || fail "the notes do not see where profiles go"

# What the agent keeps at most fits into its volume, or the kubelet evicts it. The chart knows the defaults.
for size in $("$XPROF" agent --print-config | sed -n 's/^\(spool\|cache\)-size: //p'); do
    grep -q "default \"$size\"" $chart/templates/_helpers.tpl || fail "the chart knows another default than $size"
done
refused 'set at least 2368Mi' --set config.cache-size=2G
refused 'set at least 832Mi' --set stateSize=872M
refused 'set at least 1856Mi' --set config.output-dir=/var/lib/xprof/out
refused 'set at least 1344Mi' \
    --set 'config.exporters[0].name=a,config.exporters[0].type=directory,config.exporters[0].path=/var/lib/xprof/o,config.exporters[0].max-size=512M'
for sets in config.cache-size=2G,stateSize=2368Mi config.cache-size=2G,statePath=/var/lib/xprof config.cache-size=704M stateSize=873M; do
    "$bin/helm" template x $chart --set "$sets" >"$TMP/out" || fail "this was refused: $sets"
done

# A misspelt field would have been found.
sed 's/hostPID:/hostPid:/' "$TMP/1.yaml" >"$TMP/typo.yaml"
if "${python%/python3}/kubernetes-validate" -k 1.35 --strict "$TMP/typo.yaml" >/dev/null 2>&1; then fail "hostPid passes"; fi
B=${XPROF%/*} tools/chart.sh --check

# Dashboards hold nothing that Grafana does not know.
"$python" e2e/grafana/schema.py $chart/dashboards/*.json || fail "dashboards"
sed 's/"targets":/"tragets":/' $chart/dashboards/xprof-pod.json >"$TMP/typo.json"
if "$python" e2e/grafana/schema.py "$TMP/typo.json" >/dev/null 2>&1; then fail "a misspelt key passes"; fi

# The unit: understood by systemd, started with what it leaves of the privileges, and told of readiness.
need systemd-analyze setpriv
sed "s|/usr/local/bin/xprof|$XPROF|" deploy/systemd/xprof.service >"$TMP/xprof.service"
systemd-analyze verify --man=no "$TMP/xprof.service" >"$TMP/out" 2>&1 || { cat "$TMP/out" && fail "the unit"; }
[ ! -s "$TMP/out" ] || { cat "$TMP/out" && fail "systemd has a complaint about the unit"; }
if [ "$(id -u)" = 0 ]; then
    capabilities=$(sed -n 's/^CapabilityBoundingSet=//p' deploy/systemd/xprof.service | tr 'A-Z ' 'a-z,' | sed 's/cap_/+/g')
    setpriv --bounding-set "-all,$capabilities" --inh-caps -all --no-new-privs "$XPROF" check >"$TMP/out" ||
        { cat "$TMP/out" && fail "the unit's capabilities do not suffice"; }
fi
