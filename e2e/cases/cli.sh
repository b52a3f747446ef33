#!/bin/bash
# The command line without root: help, mistakes, completion, installation.
# beside others
set -euo pipefail

fail() {
    echo "$1" >&2
    exit 1
}

"$XPROF" version | grep -q '^xprof [0-9]' || fail "version"
"$XPROF" help | grep -q '^  record ' || fail "help does not list record"
"$XPROF" record --help | grep -q -- '--table-memory SIZE' || fail "record --help"

# A mistake is one line on stderr, nothing on stdout, and exit status 2.
for mistake in 'record' 'record --nope' 'record -a -p 1' 'record -a -F 0' 'record -a -o profile.nope' 'nonsense' \
    'record -a -e nonsense' 'agent -e nonsense' 'list one two'; do
    rc=0
    # shellcheck disable=SC2086
    "$XPROF" $mistake >"$TMP/out" 2>"$TMP/err" || rc=$?
    [ $rc = 2 ] || fail "xprof $mistake: exit $rc"
    [ ! -s "$TMP/out" ] || fail "xprof $mistake: it wrote to stdout"
    [ "$(wc -l <"$TMP/err")" = 1 ] || fail "xprof $mistake: $(cat "$TMP/err")"
done

# A bad name of an event points to the list of events, which has a line for each that is offered.
for option in 'record -a -e' 'agent --events'; do
    # shellcheck disable=SC2086
    says=$("$XPROF" $option cpu,nonsense 2>&1) && fail "$option nonsense: exit 0"
    [[ $says == *'"nonsense"; see "xprof list"' ]] || fail "$option nonsense: $says"
done
"$XPROF" list >"$TMP/list"
grep -qE '^offcpu +nanoseconds +medium +- +- +time blocked' "$TMP/list" || fail "list: $(cat "$TMP/list")"
[ "$("$XPROF" list --json | jq -r '.[].name')" = "$(tail -n +2 "$TMP/list" | cut -d' ' -f1)" ] || fail "list --json"

# The table of README.md is the same, but for the timeline, which has no type.
"$XPROF" list --json | jq -r '.[] | select(.type != "") | "| `\(.name)` | \([.aliases[] | "`\(.)`"] | join(", "))" +
    "\(if .aliases == [] then "" else " " end)| \(.help) | \({nanoseconds: "ns"}[.unit] // .unit) | `\(.series):\(.type)` |"' >"$TMP/rows"
while IFS= read -r row; do
    grep -qxF -- "$row" README.md || fail "README.md has no row $row"
done <"$TMP/rows"

# What the shell would offer behind the words typed so far.
"$XPROF" completion bash >"$TMP/completion"
offers() {
    bash -c '. "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _xprof; echo "${COMPREPLY[@]}"' "$TMP/completion" "$@"
}
[ "$(offers xprof rec)" = record ] || fail "completion of a command"
[ "$(offers xprof record --freq)" = --frequency ] || fail "completion of an option"
[ "$(offers xprof record -e page)" = page-faults ] || fail "completion of an event"
for event in $(tail -n +2 "$TMP/list" | cut -d' ' -f1); do
    grep -qw -- "$event" <<<"$(offers xprof record -e "$event")" || fail "completion of $event"
done
[ "$(offers xprof list --)" = "--help --json --cri-socket" ] || fail "completion of list"

make -s install DESTDIR="$TMP/root" PREFIX=/usr
[ -x "$TMP/root/usr/bin/xprof" ] || fail "install: the binary"
bash -n "$TMP/root/usr/share/bash-completion/completions/xprof" || fail "install: the completion"
[ -f "$TMP/root/usr/share/doc/xprof/LICENSE" ] || fail "install: the licence"
