#!/bin/bash
# Builds the real servers that end-to-end tests talk to, once, into the user's cache: Pyroscope (six minutes of a core),
# Kubernetes and helm (ten). What cannot be had is said here, and its cases skip.
set -uo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 2
for build in e2e/pyroscope/get.sh e2e/kube/build.sh e2e/pyroscope/python.sh e2e/install/python.sh; do
    bash $build >/dev/null 2>"${TMPDIR:-/tmp}/servers.$$" || {
        echo "servers: $build failed, its cases will skip:" >&2
        tail -n 3 "${TMPDIR:-/tmp}/servers.$$" >&2
    }
done
rm -f "${TMPDIR:-/tmp}/servers.$$"
