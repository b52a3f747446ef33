# shellcheck shell=bash disable=SC2034
# What cases about Ruby share. To be sourced after e2e/lib.sh.

# Its version without the last part: 3.1.
ruby_version() { # ROOT
    chroot "$1" ruby -e 'print RUBY_VERSION[/\d+\.\d+/]'
}

# Folders with a Ruby each, in $rubies: of this machine, and of other releases of Debian.
find_rubies() {
    local suite
    rubies=(/)
    for suite in bullseye trixie; do
        if command -v mmdebstrap >/dev/null; then rubies+=("$(e2e/debian.sh $suite ruby php-cli perl)"); fi
    done
}

# Has a program where Ruby sees it; $program is its path there.
put_program() { # ROOT FILE
    program=$PWD/$2 # chroot changes the folder
    [ "$1" != / ] || return 0
    program=/tmp/$(basename "$2" .rb)-$$.rb
    cp "$2" "$1$program"
    at_exit "rm -f '$1$program'"
}
