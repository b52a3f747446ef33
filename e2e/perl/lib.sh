# shellcheck shell=bash disable=SC2034,SC2154
# What cases about Perl share. To be sourced after e2e/lib.sh.

# Runs each COMMAND with the Perl of this machine and those of other releases of Debian, in $perl; $own is the folder of the
# programs as it sees it, and $version which one it is.
for_each_perl() { # COMMAND...
    local suite root command
    for suite in '' bullseye trixie; do
        root=''
        [ -z "$suite" ] || root=$(e2e/debian.sh "$suite" ruby php-cli perl 2>"$errors") || skip "cannot fetch Debian's $suite"
        perl=(env LC_ALL=C ${root:+chroot "$root"} perl)
        own=$PWD/e2e/perl
        if [ -n "$root" ]; then
            own=/tmp/xprof-perl-$$
            at_exit "rm -rf '$root$own'"
            cp -r e2e/perl "$root$own"
        fi
        version=$("${perl[@]}" -e 'printf "%vd", $^V')
        record -- "${perl[@]}" -e 'use threads; use Storable; use Digest::SHA' 2>/dev/null # so that unwind tables are there
        for command; do
            "$command"
        done
    done
}
