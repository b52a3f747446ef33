# shellcheck shell=bash disable=SC2034
# What benchmarks that start an agent begin with, from the top folder:   . bench/lib/agent.sh NAME
# Gives XPROF, TMP and the helpers of e2e/agent/lib.sh, and skip_bench. Without root it skips.

XPROF=$(realpath "${XPROF:-${B:-build}/xprof}")
export XPROF
bench=$1

skip_bench() { # WHY
    echo "$bench, skip: $1"
    exit 0
}

[ "$(id -u)" = 0 ] || skip_bench "needs root"
TMP=$(mktemp -d)
# shellcheck source=e2e/lib.sh
. e2e/lib.sh
at_exit "rm -rf $TMP"
# shellcheck source=e2e/agent/lib.sh
. e2e/agent/lib.sh
