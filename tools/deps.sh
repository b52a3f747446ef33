#!/bin/bash
# Finds out what is missing for building (and testing), and installs that and nothing else.
#   tools/deps.sh build [test]
# Looks for commands and headers, not for package names, so that a clang of one's own will do.
set -euo pipefail

CC=${CC:-gcc}
PATH=$PATH:/usr/sbin:/sbin

# package : what proves that it is there (a command, a header, or a file)
build="gcc:gcc make:make libc6-dev:stdio.h clang:clang llvm:llvm-strip bpftool:bpftool libbpf-dev:bpf/libbpf.h
    libelf-dev:libelf.h libdw-dev:elfutils/libdw.h libseccomp-dev:seccomp.h zlib1g-dev:zlib.h libdeflate-dev:libdeflate.h libzstd-dev:zstd.h
    liblzma-dev:lzma.h libiberty-dev:libiberty/demangle.h libcurl4-openssl-dev:curl/curl.h libnghttp2-dev:nghttp2/nghttp2.h
    libjansson-dev:jansson.h libcgroup-dev:libcgroup.h libprotobuf-c-dev:protobuf-c/protobuf-c.h
    protobuf-c-compiler:protoc-c libmicrohttpd-dev:microhttpd.h libyaml-dev:yaml.h"
test="g++:g++ xz-utils:xz python3:python3 perl:perl git:git clang-format:clang-format clang-tidy:clang-tidy shellcheck:shellcheck binutils:readelf jq:jq musl-tools:musl-gcc
    runc:runc chromium:chromium curl:curl openssl:openssl iproute2:ip procps:pgrep systemd:systemd-analyze
    containerd:containerd containernetworking-plugins:/usr/lib/cni/bridge busybox-static:busybox podman:podman
    python3-grpcio:/usr/lib/python3/dist-packages/grpc python3-venv:/usr/share/doc/python3-venv nginx-light:nginx fio:fio iptables:iptables
    prometheus:promtool buildah:buildah mmdebstrap:mmdebstrap elfutils:eu-addr2line dwz:dwz debuginfod:debuginfod libc6-dbg:/usr/lib/debug/.build-id
    nettle-dev:nettle/aes.h libsodium-dev:sodium.h libjpeg62-turbo-dev:jpeglib.h python3-gevent:/usr/lib/python3/dist-packages/gevent python3-gmpy2:/usr/lib/python3/dist-packages/gmpy2
    libopenblas0-pthread:/usr/lib/x86_64-linux-gnu/openblas-pthread ffmpeg:ffmpeg nodejs:node npm:npm
    libzydis-dev:Zydis/Zydis.h sbcl:sbcl ruby:ruby php-cli:php luajit:luajit erlang-base:erlc guile-3.0:guile mono-mcs:mcs libjemalloc2:/usr/lib/x86_64-linux-gnu/libjemalloc.so.2
    libgoogle-perftools4:/usr/lib/x86_64-linux-gnu/libtcmalloc.so.4 libtcmalloc-minimal4:/usr/lib/x86_64-linux-gnu/libtcmalloc_minimal.so.4
    libmimalloc2.0:/usr/lib/x86_64-linux-gnu/libmimalloc.so.2"

present() {
    case $1 in
    /*) [ -e "$1" ] ;;
    *.h) echo "#include <$1>" | "$CC" -E -o /dev/null - 2>/dev/null ;;
    *) command -v "$1" >/dev/null ;;
    esac
}

missing() {
    local list=$1 item
    for item in $list; do
        present "${item#*:}" || echo "${item%%:*}"
    done
}

fuzzer_package() { # libFuzzer's run-time belongs to one version of clang
    local version
    version=$(clang -dumpversion 2>/dev/null | cut -d. -f1)
    echo 'int LLVMFuzzerTestOneInput(void) { return 0; }' |
        clang -fsanitize=fuzzer,address -x c - -o /dev/null 2>/dev/null || echo "libclang-rt-${version:-14}-dev"
}

old_go() { # whose stacks follow other rules than today's: 450 MB, and only this release has it
    present /usr/lib/go-1.19/bin/go || ! grep -q VERSION_CODENAME=bookworm /etc/os-release || echo golang-1.19-go
}

wanted=()
for set in "${@:-build}"; do
    case $set in
    build) mapfile -t -O ${#wanted[@]} wanted < <(missing "$build") ;;
    test) mapfile -t -O ${#wanted[@]} wanted < <(missing "$test" && fuzzer_package && old_go) ;;
    *) echo "deps: build or test, not $set" >&2 && exit 2 ;;
    esac
done
[ ${#wanted[@]} -gt 0 ] || exit 0

if ! command -v apt-get >/dev/null; then
    echo "deps: please install what these Debian packages hold: ${wanted[*]}" >&2
    exit 1
fi
if [ "$(id -u)" != 0 ]; then
    echo "deps: please run: sudo apt-get update && sudo apt-get install -y ${wanted[*]}" >&2
    exit 1
fi
echo "deps: installing ${wanted[*]}"
export DEBIAN_FRONTEND=noninteractive
policy=/usr/sbin/policy-rc.d # none of these is to start a service on somebody's machine
if [ ! -e $policy ]; then
    printf '#!/bin/sh\nexit 101\n' >$policy
    chmod +x $policy
    trap 'rm -f $policy' EXIT
fi
apt-get update -qq
apt-get install -y -qq --no-install-recommends "${wanted[@]}" >/dev/null
