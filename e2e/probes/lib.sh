# shellcheck shell=bash
# What cases of probes share: recordings of e2e/targets/probes.c, whose lines have counts or sums. To be sourced after
# e2e/lib.sh, with PROGRAM the name of the eBPF program that follows it. TARGET is another target.

TARGET=${TARGET:-probes}
build_target "$TARGET"
target=$TMP/$TARGET
# shellcheck disable=SC2034 # for the cases
root="$TARGET;_start;__libc_start_main;(__libc_start_call_main;)?main"

exact() { # OPTION... [-- COMMAND...]: a recording of which each line has what it counts
    record "$@"
    echo 1 >"$TMP/x.sample"
}
exactly() { # NUMBER REGEX: the value of such stacks
    local n
    n=$(samples_of "$2")
    [ "$n" = "$1" ] || fail "$n, not $1, in $2"
}

launched() { # OPTION...
    exact "$@" -- "$target"
    expect_complete 100
}
is_followed() {
    has_program "${PROGRAM:?}"
}
attached() { # OPTION...
    record_at_gate is_followed 0.3 "$@" -- "$target" go
    echo 1 >"$TMP/x.sample"
}
