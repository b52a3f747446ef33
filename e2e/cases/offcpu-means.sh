#!/bin/bash
# The user stacks of waits are the same by each means that the kernel has (`xprof check` names them): of a program that is
# blocked in 40 call chains, and of one whose waits end by signals, by its end, in another program, or over and over.
set -euo pipefail
. e2e/lib.sh
need_root

gcc -O2 -fPIC -shared -fomit-frame-pointer -o "$TMP/libchains.so" e2e/targets/chains_lib.c
build_target chains -g -pthread -fno-optimize-sibling-calls -L"$TMP" -lchains -Wl,-rpath,"$TMP"
build_target interrupted -g -fno-optimize-sibling-calls
build_target seldom -g -fno-optimize-sibling-calls

# All chains have the time of the program's own clock, but for some of the whole.
expect_times() { # OWN PERCENT
    awk -v most="$2" '
        NR == FNR { value = $NF; sub(/ [0-9]+$/, ""); line[FNR] = $0; ns[FNR] = value; n = FNR; next }
        {
            got = 0
            inner = $1 ~ /handler$/ ? "" : ";handler;"
            for (i = 1; i <= n; i++)
                if (line[i] ~ ";" $1 ";" && (inner == "" || $1 ~ /^chain_/ || line[i] !~ inner))
                    got += ns[i]
            off = got > $2 ? got - $2 : $2 - got
            if (off > 0.1 * $2)
                printf "%s: %.3f ms, not %.3f ms\n", $1, got / 1e6, $2 / 1e6
            wrong += off; all += $2
        }
        END { printf "%.2f %% of %.1f s in other places\n", 100 * wrong / all, all / 1e9; exit !(all && wrong <= most / 100 * all) }' \
        "$profile" "$1" || fail "waits have other stacks, or none"
}
expect_taken() { # PERCENT
    awk -v most="$1" '{ all += $NF; if (/\[stack not taken\]/) none += $NF }
        END { printf "%.3f %% of %.1f s without a stack\n", 100 * none / all, all / 1e9; exit !(all && none <= most / 100 * all) }' \
        "$profile" || fail "too much time has no stack"
}

# Something else may be missing here.
means=$({ "$XPROF" check || true; } | sed -n 's/^ok *user stacks of waits *//p' | tr -d ,)
[[ " $means " == *" switch "* ]] || fail "xprof check does not say how user stacks of waits are taken"
for by in $means; do
    echo "by $by:"
    record -e offcpu --wait-stacks "$by" -- "$TMP/chains" 12 | sed 's/^/chain_/' >"$TMP/own"
    expect_times "$TMP/own" 2
    expect_taken 1
    record -e offcpu --wait-stacks "$by" -- "$TMP/interrupted" >"$TMP/own"
    expect_times "$TMP/own" 5
    expect_taken 1
done

# Long waits of a thread that waits shortly otherwise: only late stacks have them.
record -e offcpu --offcpu-min 1ms -- "$TMP/seldom" 50 >"$TMP/own"
if [[ $means == *" "* ]]; then expect_times "$TMP/own" 10; fi

! "$XPROF" record --wait-stacks other -e offcpu -d 1s -a 2>"$errors" || fail "means that do not exist are accepted"
grep -q "other" "$errors" || fail "it does not say which means do not exist"
