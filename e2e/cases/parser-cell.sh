#!/bin/bash
# The parser process of a running recorder has no privilege and nothing to open, and its death costs no recording.
set -euo pipefail

[ "$(id -u)" = 0 ] || { echo "needs root" && exit 77; }

fail() {
    echo "$1" >&2
    exit 1
}

(while :; do :; done) & # an idle machine has nothing to record
busy=$!
"$XPROF" record -a -d 4s --no-cache -o "$TMP/out.collapsed" >"$TMP/log" 2>&1 &
recorder=$!
trap 'kill $busy $recorder 2>/dev/null || true' EXIT

child=
locked_in() {
    child=$(pgrep -P "$recorder" -x xprof-parser) && grep -q '^Seccomp:[[:blank:]]*2' "/proc/$child/status"
}
for _ in $(seq 60); do
    if locked_in; then break; fi
    sleep 0.05
done
[ -n "$child" ] || fail "there is no parser process: $(cat "$TMP/log")"

has() { # FIELD VALUE
    grep -qE "^$1:[[:blank:]]*$2\$" "/proc/$child/status" || fail "$1 is not $2: $(grep "^$1:" "/proc/$child/status")"
}
has Uid '65534[[:blank:]]65534[[:blank:]]65534[[:blank:]]65534'
has Gid '65534[[:blank:]]65534[[:blank:]]65534[[:blank:]]65534'
has Groups '[[:blank:]]*'
has CapEff 0000000000000000
has CapPrm 0000000000000000
has CapBnd 0000000000000000
has NoNewPrivs 1
has Seccomp 2
[ -z "$(ls -A "/proc/$child/root/" 2>/dev/null)" ] || fail "its root directory is not empty"
for fd in /proc/"$child"/fd/*; do
    case $(readlink "$fd") in
    /dev/null | socket:* | /memfd:* | "") ;;
    /*) [ "$(basename "$fd")" -gt 3 ] || fail "descriptor $(basename "$fd"): $(readlink "$fd")" ;; # the file at work
    *) fail "descriptor $(basename "$fd"): $(readlink "$fd")" ;;
    esac
done

kill -KILL "$child"
wait "$recorder" || fail "the recorder failed: $(cat "$TMP/log")"
[ -s "$TMP/out.collapsed" ] || fail "nothing was recorded"
