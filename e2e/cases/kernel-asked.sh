#!/bin/bash
# The kernel is asked for the names of its functions one by one: they are there without /proc/kallsyms, and those that
# come of it where the kernel does not answer are the same.
set -euo pipefail
. e2e/lib.sh
need_root
need unshare

read_zeros() { # KALLSYMS PROFILE: records what spends its time in the kernel
    # shellcheck disable=SC2016
    unshare -m bash -c 'mount --bind "$1" /proc/kallsyms; shift; exec "$@"' - "$1" "$XPROF" record --no-cache -F 1997 -o "$2" \
        --summary "$summary" -- dd if=/dev/zero of=/dev/null bs=64k count=60000 2>"$errors"
}
printf 'ffffffff81000000 T wrong\n' >"$TMP/wrong"
read_zeros "$TMP/wrong" "$profile"
grep -q 'read_zero_\[k\]' "$profile" && asked=1 || asked=0
if [ "$asked" = 0 ]; then
    [ "$(uname -r | cut -d. -f1)" -ge 6 ] && fail "this kernel answers, but was not asked"
    skip "Linux before 5.13"
fi
expect_samples 100
if grep -q 'wrong_\[k\]' "$profile"; then fail "/proc/kallsyms was read"; fi
# Every name that was given is one of /proc/kallsyms; eBPF programs of others come and go.
awk '$2 ~ /[tTwW]/ { print $3 }' /proc/kallsyms | sort -u >"$TMP/known"
sed 's/ [0-9]*$//' "$profile" | tr ';' '\n' | sed -n 's/_\[k\]$//p' | grep -v -e '^bpf_prog' -e '^\[kernel\]$' | sort -u >"$TMP/names"
[ "$(wc -l <"$TMP/names")" -ge 10 ] || fail "only $(wc -l <"$TMP/names") names"
comm -23 "$TMP/names" "$TMP/known" >"$TMP/others"
[ ! -s "$TMP/others" ] || fail "not in /proc/kallsyms: $(head -n 3 "$TMP/others")"
