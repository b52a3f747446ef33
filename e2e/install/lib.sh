# shellcheck shell=bash disable=SC2034
# What the tests of the installed chart share. To be sourced from the top folder, with XPROF and TMP set.

. e2e/lib.sh
need_root
need go jq
cluster=$TMP/cluster
images=$TMP/images
EXPORT_SEND=/bin/true # profiles come from the agent here
. e2e/pyroscope/lib.sh
url=http://10.77.0.1:4040
bin=$(e2e/kube/build.sh)

inside() {
    "$cluster/in" "$@"
}

curl() { # the cluster's network is its own
    inside curl "$@"
}

kubectl() {
    inside "$bin/kubectl" "$@"
}

helm() {
    inside "$bin/helm" "$@"
}

# Images of the workloads, beside those of the cluster: /NAME in registry.local/NAME:1.
workload_images() {
    mkdir -p "$images"
    gcc -O2 -fomit-frame-pointer -pthread e2e/install/workloads/web.c -o "$images/web"
    CGO_ENABLED=0 go build -o "$images/store" e2e/install/workloads/store.go
    gcc -O2 -fomit-frame-pointer e2e/install/workloads/cache.c -o "$images/cache"
    e2e/kube/images.sh "$images" web="$images/web" store="$images/store" cache="$images/cache"
    python_image
}

# The machine's own Python with its library, as an image.
python_image() {
    local python library files=(job.py=e2e/install/workloads/job.py)
    python=$(readlink -f /usr/bin/python3)
    library=/usr/lib/$(basename "$python")
    [ -d "$library" ] || fail "there is no $library"
    files+=("usr/bin/python3=$python")
    mapfile -t -O ${#files[@]} files < <(find "$library" -type f -not -path '*/__pycache__/*' -not -path '*/test/*' |
        sed -E 's|^/(.*)$|\1=/\1|')
    mapfile -t -O ${#files[@]} files < <(ldd "$python" "$library"/lib-dynload/*.so | grep -o '/[^ ]*[^ :]' | grep -v ':$' |
        grep -v lib-dynload | sort -u | while read -r f; do echo "${f#/}=$(realpath "$f")"; done)
    e2e/kube/image.py "$images/python.tar" registry.local/python:1 '["/usr/bin/python3", "/job.py"]' "${files[@]}"
}

# The cluster with Pyroscope in its network, and everything taken down at the end.
start_cluster() {
    at_exit "e2e/kube/down.sh $cluster"
    IMAGES="$(echo "$images"/*.tar)" e2e/kube/up.sh "$cluster" || fail "the cluster does not come up"
    at_exit "kill -KILL \$(cat $TMP/server/pid)"
    inside env HOME="$HOME" PATH="$PATH" "$PWD/e2e/pyroscope/start.sh" "${STORAGE:-v1}" "$TMP/server" 4040 \
        -server.http-listen-address=0.0.0.0 || fail "Pyroscope does not start"
}

install_chart() { # OPTION...
    helm install xprof "$PWD/deploy/helm/xprof" --namespace xprof --create-namespace --wait --timeout 90s \
        --set pyroscope.url=$url --set image.repository=registry.local/xprof --set image.tag=1 --set config.exclusive=off "$@" >"$TMP/notes" ||
        fail "helm install"
    kubectl -n xprof rollout status ds/xprof --timeout=90s || fail "the agent does not get ready"
}

agent_address() {
    kubectl -n xprof get pod -l app.kubernetes.io/name=xprof -o jsonpath='{.items[0].status.podIP}'
}

agent() { # PAGE
    curl -sf "http://$(agent_address):7055/$1"
}

# What is for the pod's own network only, by port-forwarding.
targets() {
    local pod forward pid line status=0
    pod=$(kubectl -n xprof get pod -l app.kubernetes.io/name=xprof -o jsonpath='{.items[0].metadata.name}') || return
    exec {forward}< <(exec "$cluster/in" "$bin/kubectl" -n xprof port-forward "$pod" :7055 2>/dev/null)
    pid=$!
    read -r line <&"$forward" # Forwarding from 127.0.0.1:PORT -> 7055
    curl -sf "http://$(grep -o '127[0-9.:]*' <<<"$line")/targets" || status=$?
    kill "$pid"
    exec {forward}<&-
    return $status
}

metric() { # NAME [LABELS_REGEX]: the sum; fails without the page or the metric
    local text
    text=$(agent metrics) || fail "the agent has no page of metrics"
    sum_of_metric "$@" <<<"$text"
}

# Waits until COMMAND succeeds, SECONDS at most.
await_for() { # SECONDS COMMAND...
    local end=$((SECONDS + $1))
    shift
    while [ $SECONDS -lt $end ]; do
        if "$@" >/dev/null 2>&1; then return 0; fi
        sleep 0.2
    done
    tell_state >&2 || true
    fail "this did not come true: $*"
}

# What the agent and Pyroscope know, for whoever reads why a test failed.
tell_state() {
    echo "functions in the last profile asked for:"
    jq -rc '[.flamegraph.names[]?]' "$TMP/flame" | cut -c1-2000
    echo "containers that the agent knows:"
    targets | jq -c '.[] | select(.kind == "container") | {pod: .labels.pod, profiled}'
    kubectl -n xprof logs ds/xprof --tail=40
    agent metrics | grep -E '^xprof_(samples|runtime|frames|parser|names|rate|cpu|build)[a-z_]*(\{.*\})? [^0]'
}

# Is there a profile of the pods whose names begin with that?
has_profile() { # SELECTOR [FUNCTION]
    [ "$(nanoseconds $cpu "$1" "${2:-total}")" -gt 0 ]
}

# Of the time below OF, so many percent are below PART, give or take three: in the end, for where the machine is busy the
# agent lowers its rate, and few samples say little.
expect_percent() { # PERCENT PART OF SELECTOR
    local part of end=$((SECONDS + 60))
    while :; do
        part=$(nanoseconds $cpu "$4" "$2")
        of=$(nanoseconds $cpu "$4" "$3")
        [ "$of" -gt 0 ] || fail "no time in $3 of $4"
        if is "100 * $part / $of - $1" '<=' 3 && is "100 * $part / $of - $1" '>=' -3; then break; fi
        [ $SECONDS -lt $end ] || fail "$2 is $part of $of ns of $3, not $1 %"
        sleep 5
    done
    echo "$2: $(awk "BEGIN { print 100 * $part / $of }") % of $3"
}

# The label sets of a type's series, private ones and the type's own left out: a JSON object a line, sorted.
series() { # MATCHER
    local now
    now=$(date +%s%3N)
    curl -s -H 'Content-Type: application/json' "$url/querier.v1.QuerierService/Series" \
        -d "$(jq -n --arg m "$1" --argjson now "$now" '{matchers: [$m], start: ($now - 7200000), end: $now}')" |
        jq -cS '.labelsSet[]? | .labels | map(select(.name | startswith("__") | not)) | from_entries' | sort -u
}

# The agent's image: XPROF_IMAGE, a tar with registry.local/xprof:1, or the program as it was built.
xprof_image() {
    mkdir -p "$images"
    if [ -n "${XPROF_IMAGE:-}" ]; then
        cp "$XPROF_IMAGE" "$images/xprof.tar"
        return
    fi
    local files=("xprof=$XPROF")
    mapfile -t -O 1 files < <(tools/libraries.sh "$XPROF" | sort -u | while read -r f; do echo "${f#/}=$(realpath "$f")"; done)
    e2e/kube/image.py "$images/xprof.tar" registry.local/xprof:1 '["/xprof"]' "${files[@]}"
}
