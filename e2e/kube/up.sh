#!/bin/bash
# A real Kubernetes of one node (node1), whose every file, mount, port and address is private to FOLDER and to one mount
# and network namespace. PIDs are the machine's own, so that what looks at processes sees its pods.
#   up.sh FOLDER              all of it; ready when the node is
#   up.sh FOLDER api          etcd and the API server only: pods are written, not run
#
#   FOLDER/manifests          pods written there are static ones
#   FOLDER/in COMMAND...      runs a command inside, with kubectl, helm, ctr in its path
#   MODE=hybrid|v2            the cgroups that the cluster sees: as the machine has them, or only the unified hierarchy
#   CONTAINERD=2|system       the one that build.sh builds, or the distribution's
#   RUNC=path                 the runtime's program
#   IMAGES="a.tar b.tar"      imported before pods can want them, beside the two that images.sh makes
# down.sh FOLDER takes it down, restart.sh FOLDER NAME kills one of its programs and starts it again.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
folder=$(realpath -m "${1:?folder}")
parts=${2:-all}
mode=${MODE:-hybrid}
address=10.77.0.1
group=/xprof-e2e-$$ # the parent of all pods' cgroups: somebody else's /kubepods stays somebody else's
PATH=$PATH:/usr/sbin:/sbin

die() {
    echo "up.sh: $*" >&2
    exit 1
}

[ "$(id -u)" = 0 ] || die "needs root"
[ ! -e "$folder/holder" ] || die "$folder is in use: down.sh"
bin=$("$here/build.sh" --find) || die "the programs are not built: e2e/kube/build.sh"
if [ "${CONTAINERD:-2}" = system ]; then containerd=/usr/bin; else containerd=$bin; fi
runc=${RUNC:-$(command -v runc || true)}
mkdir -p "$folder"/{log,etcd,kubelet,containerd,run-containerd,pods,containers,cni,cni-state,plugins,sysctl,manifests}
"$here/pki.sh" "$folder/pki" $address

trap '[ $? = 0 ] || KEEP=1 "$here/down.sh" "$folder"' EXIT # what came up halfway is taken down; the logs stay

# --- The namespaces, held by a process that sleeps.
setsid unshare -m -n --propagation private sleep infinity </dev/null >/dev/null 2>&1 &
holder=$!
echo $holder >"$folder/holder"
until [ "$(cat /proc/$holder/comm)" = sleep ]; do sleep 0.01; done
cat >"$folder/in" <<EOF
#!/bin/sh
exec nsenter -t $holder -m -n -- env KUBECONFIG=$folder/pki/admin.conf PATH=$containerd:$bin:\$PATH "\$@"
EOF
chmod +x "$folder/in"
inside() {
    "$folder/in" "$@"
}

# 10.96.0.1 is what pods find in KUBERNETES_SERVICE_HOST: on lo, it needs no kube-proxy.
inside ip link set lo up
inside ip addr add $address/32 dev lo
inside ip addr add 10.96.0.1/32 dev lo

# Starts a program inside and notes how, for restart.sh; nsenter and env exec, so that the PID is the program's.
start() { # NAME ARGUMENT...
    printf '%q ' "$folder/in" "$@" >"$folder/command-$1"
    setsid "$folder/in" "$@" >"$folder/log/$1" 2>&1 </dev/null &
    echo "$1 $!" >>"$folder/pids"
}

await() { # SECONDS COMMAND...
    local until=$((SECONDS + $1))
    shift
    while [ $SECONDS -lt $until ]; do
        if "$@" >/dev/null 2>&1; then return 0; fi
        sleep 0.05
    done
    tail -n 5 "$folder"/log/* >&2
    die "this did not come true: $*"
}

# shellcheck disable=SC2086
start_api() {
    start etcd --name e2e --data-dir "$folder/etcd" --unsafe-no-fsync \
        --listen-client-urls http://127.0.0.1:2379 --advertise-client-urls http://127.0.0.1:2379 \
        --listen-peer-urls http://127.0.0.1:2380 --initial-advertise-peer-urls http://127.0.0.1:2380 \
        --initial-cluster e2e=http://127.0.0.1:2380
    start kube-apiserver --etcd-servers=http://127.0.0.1:2379 --bind-address=0.0.0.0 --secure-port=443 \
        --advertise-address=$address --service-cluster-ip-range=10.96.0.0/24 \
        --tls-cert-file="$folder/pki/apiserver.crt" --tls-private-key-file="$folder/pki/apiserver.key" \
        --client-ca-file="$folder/pki/ca.crt" --token-auth-file="$folder/pki/tokens.csv" \
        --kubelet-client-certificate="$folder/pki/kubelet-client.crt" \
        --kubelet-client-key="$folder/pki/kubelet-client.key" --kubelet-preferred-address-types=InternalIP \
        --authorization-mode=Node,RBAC --enable-admission-plugins=NodeRestriction --allow-privileged=true \
        --service-account-issuer=https://kubernetes.default.svc \
        --service-account-signing-key-file="$folder/pki/sa.key" --service-account-key-file="$folder/pki/sa.pub" \
        ${APISERVER_FLAGS:-}
}

api_ready() {
    [ "$(inside curl -s --cacert "$folder/pki/ca.crt" -H "Authorization: Bearer $(cat "$folder/pki/admin.token")" \
        "https://$address/readyz")" = ok ]
}

if [ "$parts" = api ]; then
    # nobody makes service accounts there
    APISERVER_FLAGS="--disable-admission-plugins=ServiceAccount ${APISERVER_FLAGS:-}" start_api
    await 60 api_ready
    exit 0
fi

"$here/images.sh" "$folder/images"

# --- What kubelet and containerd find where they look: binds of our folder. `made` remembers what is new on the host.
bind() { # OURS THEIRS
    if [ ! -d "$2" ]; then
        mkdir -p "$2"
        echo "$2" >>"$folder/made"
    fi
    inside mount --bind "$folder/$1" "$2"
}
inside sh -c 'echo 1 > /proc/sys/net/ipv4/ip_forward'
if [ "$mode" = v2 ]; then
    inside umount -R /sys/fs/cgroup
    inside mount -t cgroup2 none /sys/fs/cgroup
    # on a hybrid machine most controllers belong to the old hierarchies
    inside grep -qw memory /sys/fs/cgroup/cgroup.controllers || runc=${RUNC:-$here/runc-v2.py}
fi
bind kubelet /var/lib/kubelet
bind containerd /var/lib/containerd
bind run-containerd /run/containerd
bind pods /var/log/pods
bind containers /var/log/containers
bind cni /etc/cni/net.d
bind cni-state /var/lib/cni

# The kubelet insists on writing these: it gets copies.
for setting in vm/overcommit_memory=1 vm/panic_on_oom=0 kernel/panic=10 kernel/panic_on_oops=1 \
    kernel/keys/root_maxkeys=1000000 kernel/keys/root_maxbytes=25000000; do
    file=$folder/sysctl/$(basename "${setting%=*}")
    echo "${setting#*=}" >"$file"
    inside mount --bind "$file" "/proc/sys/${setting%=*}"
done

echo "$group" >"$folder/group"
# shellcheck disable=SC2016 # $0 is for the inner shell
inside bash -euc '
    for hierarchy in /sys/fs/cgroup/*/; do
        [ ! -e "$hierarchy/cgroup.procs" ] || mkdir -p "$hierarchy$0"
    done
    [ ! -e /sys/fs/cgroup/cgroup.procs ] || mkdir -p "/sys/fs/cgroup$0"' "$group"
if [ "$mode" = v2 ]; then # the kubelet wants every controller it knows, hugetlb too
    inside cat /sys/fs/cgroup/cgroup.subtree_control >"$folder/subtree"
    for controller in $(inside cat /sys/fs/cgroup/cgroup.controllers); do
        inside sh -c "echo +$controller > /sys/fs/cgroup/cgroup.subtree_control"
        inside sh -c "echo +$controller > /sys/fs/cgroup$group/cgroup.subtree_control"
    done
fi
inside mount --make-rshared /

cat >"$folder/cni/10-e2e.conflist" <<EOF
{"cniVersion": "0.4.0", "name": "e2e", "plugins": [{"type": "bridge", "bridge": "cni0", "isGateway": true,
  "ipMasq": false, "ipam": {"type": "host-local", "dataDir": "$folder/cni-state/ipam",
  "ranges": [[{"subnet": "10.88.0.0/24"}]], "routes": [{"dst": "0.0.0.0/0"}]}}]}
EOF
cat >"$folder/containerd.toml" <<EOF
version = 2
[plugins."io.containerd.internal.v1.opt"]
  path = "$folder/opt"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "registry.local/pause:1"
  stream_server_address = "127.0.0.1"
  disable_apparmor = true
  netns_mounts_under_state_dir = true
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
      BinaryName = "$runc"
      SystemdCgroup = false
EOF
cat >"$folder/kubelet.yaml" <<EOF
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
failCgroupV1: false
cgroupDriver: cgroupfs
cgroupRoot: "$group"
containerRuntimeEndpoint: unix:///run/containerd/containerd.sock
authentication: {anonymous: {enabled: false}, webhook: {enabled: true}, x509: {clientCAFile: $folder/pki/ca.crt}}
authorization: {mode: Webhook}
oomScoreAdj: 0
maxOpenFiles: $(ulimit -Hn)
volumePluginDir: $folder/plugins
staticPodPath: $folder/manifests
failSwapOn: false
makeIPTablesUtilChains: false
resolvConf: ""
evictionHard: {memory.available: 50Mi, nodefs.available: 0%, nodefs.inodesFree: 0%, imagefs.available: 0%, imagefs.inodesFree: 0%}
imageGCHighThresholdPercent: 100
nodeStatusUpdateFrequency: 2s
fileCheckFrequency: 1h
httpCheckFrequency: 1h
EOF

start containerd -c "$folder/containerd.toml"
start_api
await 20 inside ctr version
for image in "$folder"/images/*.tar ${IMAGES:-}; do
    inside ctr -n k8s.io images import "$(realpath "$image")" >>"$folder/log/import" 2>&1
done
await 60 api_ready
controllers=({serviceaccount,namespace,garbage-collector,node-lifecycle,taint-eviction,deployment,replicaset}-controller
    {daemonset,statefulset,job,cronjob,clusterrole-aggregation,pod-garbage-collector,endpointslice}-controller
    root-ca-certificate-publisher-controller)
start kube-controller-manager --kubeconfig="$folder/pki/admin.conf" --root-ca-file="$folder/pki/ca.crt" \
    --service-account-private-key-file="$folder/pki/sa.key" --leader-elect=false --kube-api-qps=200 \
    --kube-api-burst=200 --controllers="$(IFS=, && echo "${controllers[*]}")"
start kube-scheduler --kubeconfig="$folder/pki/scheduler.conf" --leader-elect=false
start kubelet --config="$folder/kubelet.yaml" --kubeconfig="$folder/pki/kubelet.conf" --hostname-override=node1 \
    --node-ip=$address
await 30 inside kubectl get node/node1
inside kubectl wait --for=condition=Ready node/node1 --timeout=60s >/dev/null || die "the node is not ready: $folder/log"
await 30 inside kubectl get serviceaccount/default
