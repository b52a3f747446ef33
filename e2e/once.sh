# shellcheck shell=bash
# For scripts that fetch something into the user's cache. To be sourced.

# Runs COMMAND... unless it has succeeded before, alone, and up to three times: a registry can fail for a moment. What it
# prints goes to stderr.
once() { # FOLDER COMMAND...
    local out=$1 try
    shift
    [ ! -e "$out/complete" ] || return 0
    mkdir -p "$out"
    exec 9>"$out.lock"
    flock 9
    [ ! -e "$out/complete" ] || return 0
    for try in 1 2 3; do
        if "$@" >&2; then
            touch "$out/complete"
            return 0
        fi
        [ "$try" = 3 ] || sleep $((try * 2))
    done
    return 1
}
