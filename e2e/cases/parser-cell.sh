#!/bin/bash
# The parser process of a running recorder has no privilege and nothing to open, and its death costs no recording: with all
# capabilities, and with those that the chart gives.
# beside others
set -euo pipefail
. e2e/lib.sh
need_root
need setpriv

(while :; do :; done) & # an idle machine has nothing to record
at_exit "kill $!"

child=
locked_in() {
    child=$(pgrep -P "$recorder" -x xprof-parser) && grep -q '^Seccomp:[[:blank:]]*2' "/proc/$child/status"
}

has() { # FIELD VALUE
    grep -qE "^$1:[[:blank:]]*$2\$" "/proc/$child/status" || fail "$1 is not $2: $(grep "^$1:" "/proc/$child/status")"
}

start() { # BOUNDING_SET COMMAND...
    local bounding=$1
    shift
    rm -f "$profile"
    "$@" "$XPROF" record -a -d 4s --no-cache -v -o "$profile" >"$TMP/log" 2>"$errors" &
    recorder=$!
    at_exit "kill $recorder"
    await locked_in
    has CapEff 0000000000000000
    has CapPrm 0000000000000000
    has CapBnd "$bounding"
    has NoNewPrivs 1
    has Seccomp 2
    for fd in /proc/"$child"/fd/*; do
        case $(readlink "$fd") in
        /dev/null | socket:* | /memfd:* | "") ;;
        /*) [ "$(basename "$fd")" -gt 3 ] || fail "descriptor $(basename "$fd"): $(readlink "$fd")" ;; # the file at work
        *) fail "descriptor $(basename "$fd"): $(readlink "$fd")" ;;
        esac
    done
}

finish() {
    kill -KILL "$child"
    wait "$recorder" || fail "the recorder failed"
    [ -s "$profile" ] || fail "nothing was recorded"
}

start 0000000000000000 env
has Uid '65534[[:blank:]]65534[[:blank:]]65534[[:blank:]]65534'
has Gid '65534[[:blank:]]65534[[:blank:]]65534[[:blank:]]65534'
has Groups '[[:blank:]]*'
[ -z "$(ls -A "/proc/$child/root/" 2>/dev/null)" ] || fail "its root directory is not empty"
finish
if grep 'without a user of its own' "$errors"; then fail "it has one"; fi

capabilities=$(sed -n 's/^capabilities: \[\(.*\)\]$/\1/p' deploy/helm/xprof/values.yaml | tr '[:upper:]' '[:lower:]' | tr -d ' ')
start '[0-9a-f]*' setpriv --no-new-privs --bounding-set="-all,+${capabilities//,/,+}"
has Uid '65534[[:blank:]]65534[[:blank:]]65534[[:blank:]]65534'
has Gid '65534[[:blank:]]65534[[:blank:]]65534[[:blank:]]65534'
finish
if grep 'without a user of its own' "$errors"; then fail "it has one, with the chart's capabilities"; fi
for missing in 'an empty root directory' 'an empty network namespace'; do
    grep -q "without $missing" "$errors" || fail "it does not say that it is without $missing"
done

# Without CAP_KILL it could not be ended if it were another user's.
start '[0-9a-f]*' setpriv --bounding-set=-kill
has Uid '0[[:blank:]]0[[:blank:]]0[[:blank:]]0'
finish
grep -q 'without a user of its own' "$errors" || fail "it does not say that it is without a user of its own"

# `xprof check` says the same, and that this is no failure.
sandbox_line() { # COMMAND...
    "$@" "$XPROF" check >"$TMP/check" 2>&1 || true
    grep -E '^(ok|--) +parser sandbox +seccomp, no capabilities, no new privileges' "$TMP/check" ||
        fail "check does not say what holds of the sandbox"
}
sandbox_line env >"$TMP/line"
for layer in user root network; do
    grep -qE ", $layer([,;]|\$)" "$TMP/line" || fail "check does not say that $layer holds: $(cat "$TMP/line")"
done
sandbox_line setpriv --no-new-privs --bounding-set="-all,+${capabilities//,/,+}" >"$TMP/line"
for missing in 'an empty root directory' 'an empty network namespace'; do
    grep -qE "^-- .*; without .*$missing" "$TMP/line" || fail "check does not say that it is without $missing"
done
