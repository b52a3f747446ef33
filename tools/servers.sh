#!/bin/bash
# Builds the real server that end-to-end tests talk to, once, into the user's cache: Pyroscope (six minutes of a core), and
# what speaks to it. What cannot be had is said here, and its cases skip. (Kubernetes: e2e/install/kube.sh.)
set -uo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 2
for build in e2e/pyroscope/get.sh e2e/pyroscope/python.sh; do
    bash $build >/dev/null 2>"${TMPDIR:-/tmp}/servers.$$" || {
        echo "servers: $build failed, its cases will skip:" >&2
        tail -n 3 "${TMPDIR:-/tmp}/servers.$$" >&2
    }
done
rm -f "${TMPDIR:-/tmp}/servers.$$"
