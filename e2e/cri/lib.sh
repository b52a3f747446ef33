# shellcheck shell=bash
# A registry of containers (cri-ps) in the background, for cases: registry OPTION..., then says, expect_says, ask, and
# registry_ends. To be sourced behind e2e/lib.sh.

ps=${CRI_PS:-$(dirname "$XPROF")/cri-ps}
[ -x "$ps" ] || skip "there is no $ps: make e2e builds it"
wrap=()    # a command that runs it
rescan=300 # ms

registry() { # OPTION...
    coproc REGISTRY { exec "${wrap[@]}" "$ps" --rescan "$rescan" --timeout 300 "$@" 2>&1; }
    registry=$REGISTRY_PID
    to=${REGISTRY[1]} from=${REGISTRY[0]}
    at_exit "kill $registry"
}
registry_ends() {
    exec {to}>&- {from}<&-
    wait "$registry" || fail "cri-ps: exit $?"
}

ask() { # ps|stats|...; not in a subshell: bash closes the pipes of a coprocess there
    local line
    echo "$1" >&"$to"
    while read -r -t 10 line <&"$from" && [ "$line" != . ]; do echo "$line"; done
}
says() { # ps|stats REGEX
    ask "$1" >"$TMP/said" && grep -qE -- "$2" "$TMP/said"
}
expect_says() { # ps|stats REGEX
    local i
    for ((i = 0; i < 100; i++)); do
        if says "$1" "$2"; then return 0; fi
        sleep 0.1
    done
    cat "$TMP/said" >&2
    fail "$1 does not say: $2"
}
