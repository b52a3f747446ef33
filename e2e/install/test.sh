#!/bin/bash
# A platform team installs the chart, a developer annotates a pod, and that pod's profile, no other's, is in Pyroscope.
set -euo pipefail
. e2e/install/lib.sh
. e2e/install/java.sh

workload_images
java_image
xprof_image
start_cluster
inside mountpoint -q /sys/kernel/tracing || inside mount -t tracefs none /sys/kernel/tracing # as systemd does on nodes
install_chart --set-json 'config.events=["cpu",
    {"name": "request-sizes", "probe": "uprobe:web:handle_request", "value": "arg1", "unit": "bytes"},
    {"name": "sleeps", "probe": "syscall:clock_nanosleep"}]'
kubectl apply -f "$PWD"/e2e/install/workloads/pods.yaml
kubectl -n shop rollout status deploy/web deploy/silent --timeout=60s
check_java

# Those that asked are there, soon, with exactly these labels.
await_for 60 has_profile '{service_name="web"}' render
await_for 60 has_profile '{service_name="order store"}' main.compact
await_for 60 has_profile '{service_name="report"}' digest_all
has_rests() { # of Python, off its CPU
    [ "$(nanoseconds off_cpu:off_cpu:nanoseconds:: '{service_name="report"}' rest)" -gt 0 ]
}
await_for 60 has_rests
pod_of() { # NAMESPACE LABEL
    kubectl -n "$1" get pod -l "$2" -o jsonpath='{.items[0].metadata.name}'
}
expect_series() { # SERVICE CONTAINER JSON
    local have want
    have=$(series "{service_name=\"$1\",container=\"$2\"}")
    want=$(jq -cnS "$3")
    [ "$have" = "$want" ] || fail "labels of $1: $have, not $want"
}
web=$(pod_of shop app=web)
expect_series web main '{service_name: "web", service_namespace: "shop", service_instance_id: "shop.'"$web"'.main",
    namespace: "shop", pod: "'"$web"'", container: "main", node: "node1", workload_kind: "Deployment",
    workload_name: "web"}'
expect_series "order store" db '{service_name: "order store", service_namespace: "asks",
    service_instance_id: "asks.store-0.db", namespace: "asks", pod: "store-0", container: "db", node: "node1",
    workload_kind: "StatefulSet", workload_name: "store"}'
report=$(pod_of shop job-name=report)
expect_series report py '{service_name: "report", service_namespace: "shop",
    service_instance_id: "shop.'"$report"'.py", namespace: "shop", pod: "'"$report"'", container: "py", node: "node1",
    workload_kind: "Job", workload_name: "report"}'
services() { # v2 storage tells of fresh profiles only to who names the service: there, all that could be are asked for
    if [ "${STORAGE:-v1}" = v1 ]; then
        series '{service_name=~".+"}' | jq -r .service_name | sort -u
    else
        for s in jvm "order store" report shy silent store web xprof; do
            if has_profile "{service_name=\"$s\"}"; then echo "$s"; fi
        done
    fi | paste -sd,
}
[ "$(services)" = "jvm,order store,report,web" ] || fail "there are profiles of $(services)"

# The time is where it is spent.
at_least() { # NANOSECONDS FUNCTION SELECTOR: as many samples as three percent ask for
    [ "$(nanoseconds $cpu "$3" "$2")" -ge "$1" ]
}
await_for 120 at_least 15000000000 handle_request '{service_name="web"}'
await_for 120 at_least 15000000000 main.serve '{service_name="order store"}'
expect_percent 70 render handle_request '{service_name="web"}'
expect_percent 60 main.compact main.serve '{service_name="order store"}'

# Annotating a running pod takes effect, un-annotating too: nothing of the pod comes after that. Threads are followed off
# their CPUs only as long as somebody asks for it.
followed() {
    [ -n "$(bpftool prog show name xp_on_switch)" ]
}
not_followed() {
    ! followed
}
await_for 30 not_followed # the job that asked for it is over
kubectl -n shop annotate pod -l app=silent xprof.io/profile=cpu,offcpu,runqueue,lock,request-sizes,sleeps
profiled() { # LABEL_IN_TARGETS TRUE_OR_FALSE
    targets | jq -e --arg p "$1" --argjson want "$2" \
        '[.[] | select(.kind == "container" and .labels.pod == $p)] | length > 0 and all(.profiled == $want)'
}
await_for 10 profiled "$(pod_of shop app=silent)" true
await_for 60 has_profile '{service_name="silent"}' render
has_waits() { # TYPE FUNCTION
    [ "$(nanoseconds "$1" '{service_name="silent"}' "$2")" -gt 0 ]
}
await_for 60 has_waits run_queue:run_queue:nanoseconds:: total
await_for 60 has_waits off_cpu:off_cpu:nanoseconds:: take_turns
await_for 60 has_waits mutex:delay:nanoseconds:contentions:count take_turns
has_waits mutex:contentions:count:contentions:count take_turns || fail "the locks have no number of contentions"
followed || fail "there are waits of nobody"

# Probes of the configuration, by their names and units, of the pod that asked for them.
await_for 60 has_waits request_sizes:request_sizes:bytes:: handle_request
await_for 60 has_waits request_sizes:request_sizes_count:count:: handle_request
await_for 60 has_waits sleeps:sleeps:count:: take_turns
[ "$(nanoseconds request_sizes:request_sizes:bytes:: '{service_name="web"}' total)" = 0 ] ||
    fail "a pod has a probe that another one asked for"
[ "$(metric xprof_probe_processes 'event="request-sizes"')" = 1 ] || fail "the probe is in other processes, too"
is "$(metric xprof_probe_hits_total 'event="request-sizes"')" '>' 100 || fail "the probe's hits are not counted"
kubectl -n shop annotate pod -l app=silent xprof.io/profile-
[ "$(curl -s -o "$TMP/refused" -w '%{http_code}' "http://$(agent_address):7055/targets")" = 403 ] ||
    fail "whoever reaches the agent's port learns what pods there are: $(cat "$TMP/refused")"
stopped() {
    targets | jq -e --arg u "$1" '[.[] | select(.kind == "pod" and .pod_uid == $u)] | length == 1 and all(.profiled | not)'
}
await_for 10 stopped "$(kubectl -n shop get pod -l app=silent -o jsonpath='{.items[0].metadata.uid}')"
await_for 10 not_followed
sleep 22
before=$(nanoseconds $cpu '{service_name="silent"}')
sleep 15
[ "$(nanoseconds $cpu '{service_name="silent"}')" = "$before" ] || fail "the pod is profiled after it opted out"

# When nobody asks, no sample leaves the kernel, however busy the pods are.
kubectl -n shop delete deploy/web --cascade=foreground # its pods are gone, too
kubectl -n asks delete statefulset/store --cascade=foreground
sleep 2
before=$(metric xprof_samples_total)
unwanted=$(metric xprof_samples_unwanted_total)
sleep 5
[ "$(metric xprof_samples_total)" = "$before" ] || fail "samples of pods that opted out leave the kernel"
is "$(metric xprof_samples_unwanted_total) - $unwanted" '>' 50 || fail "the machine was idle: this proves nothing"

# With the chart's capabilities and security context, the parser processes have no privilege, whatever else the kernel
# allows; the metrics and the check say what it does.
uid=$(kubectl -n xprof get pod -l app.kubernetes.io/name=xprof -o jsonpath='{.items[0].metadata.uid}')
parsers=()
for process in $(pgrep -x xprof-parser); do
    if grep -qE "pod(${uid}|${uid//-/_})" "/proc/$process/cgroup" 2>/dev/null; then parsers+=("$process"); fi
done
[ ${#parsers[@]} -gt 0 ] || fail "the agent's pod has no parser process"
layer() { # NAME
    metric xprof_parser_sandbox "layer=\"$1\""
}
[ "$(layer user)" = 1 ] || fail "the parser has no user of its own"
for process in "${parsers[@]}"; do
    for field in 'CapInh 0000000000000000' 'CapPrm 0000000000000000' 'CapEff 0000000000000000' 'CapAmb 0000000000000000' \
        'Seccomp 2' 'NoNewPrivs 1' "Uid 65534(.65534){3}" "Gid 65534(.65534){3}"; do
        grep -qE "^${field%% *}:[[:blank:]]*${field#* }\$" "/proc/$process/status" ||
            fail "a parser process is not '$field': $(grep "^${field%% *}:" "/proc/$process/status")"
    done
done
for name in root network; do
    [ "$(layer $name)" = 0 ] || fail "the layer $name holds without its capabilities: docs/privileges.md says otherwise"
done
landlock=0
if "$XPROF" check | grep -qE '^[a-z-]+ +parser sandbox .*, landlock[,;]'; then landlock=1; fi # outside of the pod
[ "$(layer landlock)" = $landlock ] || fail "landlock: $(layer landlock) in the pod, $landlock outside"

helm upgrade xprof "$PWD/deploy/helm/xprof" -n xprof --reuse-values --set config.interval=5s --wait --timeout 60s
kubectl -n xprof rollout status ds/xprof --timeout=60s
helm test xprof -n xprof >"$TMP/check" 2>&1 || { cat "$TMP/check" && fail "helm test"; }
grep -q 'xprof works here' "$TMP/check" || fail "helm test did not run the check"
grep -qE 'parser sandbox +seccomp, no capabilities, no new privileges.*, user[,;].*without an empty root directory' "$TMP/check" ||
    fail "the check does not say what holds of the parser's sandbox"
helm uninstall xprof -n xprof --wait
nothing_left() { # a pod may take its grace period
    [ -z "$(kubectl get all,cm,sa,secret,clusterrole,clusterrolebinding -A -l app.kubernetes.io/instance=xprof -o name)" ] &&
        [ -z "$(kubectl -n xprof get all -o name)" ]
}
await_for 30 nothing_left
