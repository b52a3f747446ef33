#!/bin/bash
# The output formats, read by what people read them with: the page in a headless Chromium, pprof by go and protoc, the
# others by python3. Needs no root and no kernel; the profiles are made up by make.c.   e2e/html/run.sh [KEEP_DIR]
# KEEP_DIR keeps the files and the screenshots.
# beside others
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/../.."
here=e2e/html
work=$(mktemp -d "${TMP:-/tmp}/xprof-html.XXXXXX")
trap 'rm -rf "$work"' EXIT
out=${1:-$work/out}
mkdir -p "$out"

sources=()
for file in agent/profile/*.c agent/events/*.c agent/base/*.c agent/probe/tracefs.c e2e/html/*.c; do
    case $file in
    *_test.c | */test_main.c | *_fuzz.c) ;;
    *) sources+=("$file") ;;
    esac
done
version=$(cat VERSION)
"${CC:-gcc}" -std=gnu11 -O2 -w -D_GNU_SOURCE "-DXPROF_VERSION=\"$version\"" -Iagent -I. \
    -o "$work/make" "${sources[@]}" -lz -ljansson -lpthread
"$work/make" "$out"

passed=0 failed=0 skipped=0
# Adds up the "N passed, N failed" of a part; one that says nothing of the kind has failed.
part() {
    local log=$work/log
    "$@" 2>&1 | tee "$log" | grep -Ev '^[0-9]+ passed, ' || true
    read -r p f s < <(sed -nE '$s/^([0-9]+) passed, ([0-9]+) failed(, ([0-9]+) skipped)?$/\1 \2 0\4/p' "$log" | grep . || echo 0 1 0)
    passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + 10#$s))
}

if command -v python3 >/dev/null; then
    FIREFOX=$($here/firefox.sh || true) part python3 $here/formats.py "$out"
else
    echo "skip  formats: no python3"
    skipped=$((skipped + 1))
fi
browser=$(command -v "${CHROMIUM:-chromium}" || command -v chromium-headless-shell || true)
if [ -z "$browser" ]; then
    echo "skip  the page: no chromium"
    skipped=$((skipped + 1))
elif ! command -v node >/dev/null; then
    echo "skip  the page: no node"
    skipped=$((skipped + 1))
else
    part timeout --kill-after=5 200 node $here/page.mjs "$browser" "$out"
fi

echo "$passed passed, $failed failed, $skipped skipped"
[ $((passed + failed)) -gt 0 ] || exit 77
[ $failed = 0 ]
