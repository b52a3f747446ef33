# shellcheck shell=bash disable=SC2034,SC2154
# What cases about script languages share. To be sourced after e2e/lib.sh, with $language, which has a folder in e2e.

# The chains in the last profile are those that the program printed.
check() { # WHAT OPTION...
    echo -n "$1: "
    python3 "e2e/$language/chains.py" "$TMP/x.pb.gz" "$TMP/own" "${@:2}" ||
        fail "$1: the chains are not as the program has them"
    expect '.lost["ring-full"] + .lost.scratch + .lost["stack-memory"] + .lost.malformed' == 0
}

launched() { # WHAT COMMAND...
    record -F 199 -o "$TMP/x.pb.gz" -- "${@:2}" >"$TMP/own"
    check "$1 launched" --missed 300
}

# It runs for a while already.
attached() { # WHAT COMMAND...
    : >"$TMP/own" # what an earlier one said is gone before this one begins
    "${@:2}" >"$TMP/own" &
    local pid=$!
    at_exit "kill -KILL $pid"
    await grep -q c03 "$TMP/own"
    record_in_background -F 199 -o "$TMP/x.pb.gz" -p $pid
    wait "$recorder"
    check "$1 attached" --missed 300 --few 0
}

# Runs COMMAND for this machine and for other releases of Debian: $suite is the release, empty for this machine; programs
# of the release are run by the command $enter; $own is the language's folder as they see it.
for_each_release() { # COMMAND...
    local root
    for suite in '' bullseye trixie; do
        enter=() own=$PWD/e2e/$language
        if [ -n "$suite" ]; then
            if ! root=$(e2e/debian.sh "$suite" ruby php-cli perl 2>"$errors"); then
                command -v mmdebstrap >/dev/null || skip "there is no mmdebstrap for Debian's $suite"
                fail "Debian's $suite cannot be fetched"
            fi
            own=$(mktemp -d "$root/tmp/xprof-XXXXXX")
            at_exit "rm -rf '$own'"
            cp -r "e2e/$language/." "$own"
            enter=(chroot "$root") own=${own#"$root"}
        fi
        "$@"
    done
}

# An agent shows FUNCTION of the program $TMP/app in containers (shows_inside): `app 600`, and `app 2 fork`, which has
# workers of two seconds. To be called after e2e/agent/lib.sh has been sourced.
shows_scripts_inside() { # FUNCTION PERCENT_BEFORE PERCENT_WORKERS INTERPRETER [OPTION...]
    [ -x "$4" ] || skip "there is no $4"
    before=("$TMP/app" -- "${@:4}" app 600)
    after=("$TMP/app" -- "${@:4}" app 2 fork)
    shows_inside "$language*" "$1" "$2" "$3" 'after the agent, in workers'
    ends_silent '>=' 2 3 "$language"
}
