# shellcheck shell=bash disable=SC2154
# What the kernel side took and what became of it. To be sourced after e2e/agent/lib.sh.

soon() { # as await, but two minutes: servers start, who waits for them does so ever longer, and machines are busy
    local i
    for ((i = 0; i < 12; i++)); do
        if (await "$@") 2>/dev/null; then return 0; fi
    done
    fail "this did not come true: $*"
}

# The kernel side dropped so many more samples: whoever was not wanted was busy enough.
unwanted_for() { # SAMPLES
    local until
    until=$(($(metric xprof_samples_unwanted_total) + $1))
    await reached "$until"
}
reached() {
    [ "$(metric xprof_samples_unwanted_total)" -ge "$1" ]
}

# All that left the kernel is in a profile or counted, once nobody is wanted any more.
settled_samples() {
    curl -sf "$page/metrics" | awk '$1 == "xprof_samples_total" { all = $2 } $1 == "xprof_profiles_waiting" { waiting = $2 }
        $1 ~ /^xprof_samples_lost_total{cause="(ring-full|scratch|stack-memory|malformed)"/ { lost += $2 }
        $1 ~ /^xprof_profile_samples_total/ { done += $2 }
        END { printf "%d taken, %d lost, %d in profiles or counted\n", all, lost, done; exit waiting || all != lost + done }'
}
expect_sum() { # a pod that ends may still be sampled: what is said is what was seen to come true
    soon keep_sum
    cat "$TMP/sum"
}
keep_sum() {
    settled_samples >"$TMP/sum"
}
