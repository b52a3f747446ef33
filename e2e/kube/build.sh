#!/bin/bash
# The programs of the test cluster, built from Go modules: etcd, kube-apiserver, kube-controller-manager,
# kube-scheduler, kubelet, kubectl (one binary of 139 MB), helm, and containerd 2 with its shim and ctr.
#   e2e/kube/build.sh [--find]    prints the folder they are in; --find only looks, exit 1 when they are not there
# They are kept in the user's cache under a key of all that they are made from. Cold this takes nine minutes of a core
# (and 4 GB of memory for a minute), warm nothing. As Pyroscope, they are not optimised, and the compiler may use more
# memory than it would by itself: together, this halves the time.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
helm=v3.21.4
containerd=v2.2.3
kubernetes=$(sed -n 's/^.*k8s.io\/kubernetes v//p' "$here/go.mod")
minor=$(echo "$kubernetes" | cut -d. -f2)
export CGO_ENABLED=0 GOFLAGS="-p=${JOBS:-2} -trimpath '-gcflags=all=-N -l'" GO111MODULE=on GOGC=400

command -v go >/dev/null || { echo "there is no go" >&2 && exit 1; }
key=$({
    go version
    echo "$helm $containerd"
    cat "$here"/{main.go,go.mod,go.sum}
} | sha256sum | cut -c1-16)
out=${XDG_CACHE_HOME:-$HOME/.cache}/xprof/kube-$key

if [ -e "$out/complete" ]; then
    echo "$out"
    exit 0
fi
[ "${1:-}" != --find ] || exit 1

mkdir -p "$out"
exec 9>"$out/lock" # one build at a time: the linker alone takes 2.3 GB
flock 9
[ ! -e "$out/complete" ] || { echo "$out" && exit 0; }

# What a release build says about its version: kubelet and API server compare theirs, and helm asks for a range.
stamp() { # PACKAGE VARIABLE=VALUE...
    local package=$1 set
    shift
    for set; do printf -- '-X %s.%s ' "$package" "$set"; done
}
versions=""
for package in k8s.io/component-base/version k8s.io/client-go/pkg/version; do
    versions+=$(stamp $package "gitVersion=v$kubernetes" gitMajor=1 "gitMinor=$minor" gitTreeState=clean)
done
(cd "$here" && go build -ldflags "-s -w $versions" -o "$out/kube" .) >&2
for name in etcd kube-apiserver kube-controller-manager kube-scheduler kubelet kubectl; do
    ln -f "$out/kube" "$out/$name"
done

versions=$(stamp helm.sh/helm/v3/internal/version "version=$helm")
for package in chartutil lint/rules; do
    versions+=$(stamp "helm.sh/helm/v3/pkg/$package" k8sVersionMajor=1 "k8sVersionMinor=$minor")
done
GOBIN=$out go install -ldflags "-s -w $versions" helm.sh/helm/v3/cmd/helm@$helm >&2

module=github.com/containerd/containerd/v2
versions=$(stamp $module/version "Version=${containerd#v}")
GOBIN=$out go install -ldflags "-s -w $versions" \
    $module/cmd/containerd@$containerd $module/cmd/containerd-shim-runc-v2@$containerd $module/cmd/ctr@$containerd >&2
touch "$out/complete"
echo "$out"
