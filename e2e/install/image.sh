#!/bin/bash
# Builds the agent's image from the Dockerfile, without a registry:   e2e/install/image.sh OUT.tar
# OUT.tar is an OCI archive of registry.local/xprof:1. The base, debian:bookworm, is made from the distribution's packages
# once a week; base, layers and images are kept in the user's cache, the image under a key of what it is made from.
set -euo pipefail

out=$(realpath -m "${1:?OUT.tar}")
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
suite=bookworm
cache=${XDG_CACHE_HOME:-$HOME/.cache}/xprof/image
week=$suite-$(date +%G-%V)
key=$({
    echo "$week"
    find Dockerfile .dockerignore Makefile VERSION LICENSE agent bpf tools/deps.sh tools/libraries.sh -type f -not -name '*_test.c' \
        -not -name '*_fuzz.c' -not -path '*/testdata/*' -not -name README.md | LC_ALL=C sort | xargs sha256sum
} | sha256sum | cut -c1-16)

die() {
    echo "image.sh: $*" >&2
    exit 1
}

image() {
    buildah --storage-driver vfs --root "$cache/root" --runroot "$cache/run" "$@"
}

# The base as a registry would hand it out.
base() {
    local container folder
    if image images -q "docker.io/library/debian:$suite" 2>/dev/null | grep -q . && [ "$(cat "$cache/week")" = "$week" ]; then
        return
    fi
    rm -rf "$cache/root" "$cache/run" # the old base, and all that was built on it
    mmdebstrap --quiet --variant=minbase "$suite" "$cache/base.tar" >&2 || die "mmdebstrap"
    container=$(image from scratch)
    folder=$(image mount "$container")
    tar -C "$folder" -xpf "$cache/base.tar"
    image umount "$container" >/dev/null
    image config --cmd /bin/bash --env PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "$container"
    image commit --quiet --rm "$container" "docker.io/library/debian:$suite" >/dev/null
    rm "$cache/base.tar"
    echo "$week" >"$cache/week"
}

build() { # OPTION...
    image build --quiet --isolation chroot --pull-never --layers -f Dockerfile "$@" . >"$cache/log" 2>&1 ||
        { cat "$cache/log" >&2 && die "the build failed"; }
}

for tool in buildah mmdebstrap; do
    command -v $tool >/dev/null || die "there is no $tool"
done
[ "$(id -u)" = 0 ] || die "needs root"
mkdir -p "$cache"
exec 9>"$cache/lock"
flock 9
if [ ! -e "$cache/$key.tar" ]; then
    base
    build --target tools -t registry.local/xprof-tools:1 # tagged, it stays
    build --build-arg "VERSION=$(cat VERSION)" -t registry.local/xprof:1
    find "$cache" -maxdepth 1 -name '*.tar' -delete # of older sources
    image push --quiet registry.local/xprof:1 "oci-archive:$cache/new:registry.local/xprof:1" >&2
    image rmi --prune >/dev/null 2>&1 || true
    mv "$cache/new" "$cache/$key.tar"
fi
cp "$cache/$key.tar" "$out"
