# shellcheck shell=bash disable=SC2034,SC2154
# What cases about Erlang share. To be sourced after e2e/lib.sh.

# Has the command of an Erlang in $erl, with its arguments: of this machine, or of a release of Debian, whose programs
# are in $root then. Its OTP is $otp.
find_erl() { # [SUITE]
    root=''
    erl=(erl)
    if [ $# != 0 ]; then
        if ! root=$(e2e/debian.sh "$1" erlang-base 2>"$errors"); then
            command -v mmdebstrap >/dev/null || skip "there is no mmdebstrap for Debian's $1"
            fail "Debian's $1 cannot be fetched"
        fi
        local erts # there is no shell, which erl is a script of
        erts=$(compgen -G "$root/usr/lib/erlang/erts-*/bin")
        erl=(env "BINDIR=${erts#"$root"}" ROOTDIR=/usr/lib/erlang EMU=beam PROGNAME=erl HOME=/ LANG=C.UTF-8
            chroot "$root" "${erts#"$root"}/erlexec")
    fi
    otp=$("${erl[@]}" -noshell -eval 'io:put_chars(erlang:system_info(otp_release)), halt().')
}

# Compiles a module where programs of $root see it, as $folder.
compile() { # SOURCE
    local to=$TMP
    if [ -n "$root" ]; then
        to=$(mktemp -d "$root/tmp/xprof-XXXXXX")
        at_exit "rm -rf '$to'"
    fi
    erlc -o "$to" "$1"
    folder=${to#"$root"}
}
