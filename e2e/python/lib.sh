# shellcheck shell=bash disable=SC2034
# What cases about Python share. To be sourced after e2e/lib.sh.

# Its version without the last part: 3.11.
python_version() { # PYTHON
    "$1" -c 'import sys; print("%d.%d" % sys.version_info[:2])'
}

# One interpreter of each version that is installed, in $pythons: Debian's, pyenv's, those of $XPROF_PYTHONS, and one whose
# loop is many functions (3.14, as uv installs it).
find_pythons() {
    local python version versions=
    pythons=()
    for python in /usr/bin/python3 $(compgen -G "$HOME/.pyenv/versions/*/bin/python3" | sort -V) ${XPROF_PYTHONS:-} \
        "$(e2e/jit/python.sh)"; do
        [ -x "$python" ] || continue
        version=$(python_version "$python")
        [ "${version#*.}" -ge 8 ] || continue
        [[ " $versions " != *" $version "* ]] || continue
        versions+=" $version"
        pythons+=("$python")
    done
    [ ${#pythons[@]} -gt 0 ] || skip "there is no Python 3.8 or later"
    echo "tried:$versions"
}
