# shellcheck shell=bash disable=SC2034,SC2154
# What cases about processes that lie to the agent share: each in $TMP/hostile KIND ... (e2e/LANGUAGE/hostile.c). To be
# sourced after e2e/agent/lib.sh. A case has a function `victim TWO_HEX_DIGITS`, which runs a container to its end.

# Percent of its samples that are whole, and of those with OF ("": all) that have NAME, of several the least. The first
# interval, in which it starts, is left out.
judge() { # TWO_HEX_DIGITS OF NAME...
    local all='' seen=- of with least name cut id
    id=$(printf "$1%.0s" {1..6})
    await has_profiles "host/$id"
    while [ "$seen" != "$all" ]; do # the last ones may still be coming
        sleep 3
        seen=$all
        read -r all _ <<<"$(tally "host/$id")"
    done
    mkdir -p "$out/first/$id"
    mv "$(compgen -G "$out/host/$id/*.pb.gz" | sort | head -n 1)" "$out/first/$id"
    read -r all _ of cut <<<"$(tally "host/$id" "$2")"
    [ -n "$2" ] || of=$all
    for name in "${@:3}"; do
        read -r _ _ with _ <<<"$(tally "host/$id" "$name")"
        [ "${least:-$with}" -lt "$with" ] || least=$with
    done
    awk -v all="$all" -v of="$of" -v with="$least" -v cut="$cut" 'BEGIN {
        if (of < 100) exit 1
        printf "%.2f %.2f\n", 100 * (all - cut) / all, 100 * with / of }' || fail "there are only $of of $all samples"
}

lie() { # NAME [KIND]
    (echo $BASHPID >"$TMP/pid-$1" && contained nice -n 19 "$TMP/hostile" "$TMP/lib-$1" "${2:-$1}" 90 "$TMP/fs/program") \
        >"$TMP/out-$1" 2>&1 &
    at_exit "kill -KILL $!"
    await grep -q ready "$TMP/out-$1"
}

# Those whose memory is in a file that does not answer, in the container that was made last. They are stopped before
# anybody hangs there, who would keep the others from opening it: $hanging.
lie_and_hang() { # KIND...
    local kind
    mkdir "$TMP/fs"
    (contained "$TMP/hangfs" "$TMP/fs" "$(command -v sleep)" read) &
    at_exit "kill -TERM $!; umount -l $TMP/fs"
    await pgrep -f '^program'
    hanging=()
    for kind; do
        lie "$kind"
        hanging+=("$(<"$TMP/pid-$kind")")
        kill -STOP "${hanging[-1]}"
    done
}

# A victim beside liars, who run, has what it has alone: CHAIN percent, but for two. `judge` gets the arguments.
expect_unharmed() { # CHAIN TWO_HEX_DIGITS OF NAME...
    local before began took lasted beside in_chain mib
    before=$(cpu_of_agent)
    began=$(date +%s%N)
    victim "$2"
    took=$(($(cpu_of_agent) - before))
    lasted=$((($(date +%s%N) - began) / 1000000))
    read -r beside in_chain < <(judge "${@:2}")
    mib=$(($(memory_of_agent VmHWM) / 1024))
    echo "beside them: $beside % are whole, $in_chain % have the chain; the agent has $mib MiB and took $took ms in $lasted ms"
    is "$beside" '>=' 99 || fail "only $beside % of the other container's stacks are whole"
    is "$in_chain" '>=' "$1 - 2" || fail "only $in_chain % of the other container's stacks have the chain, not $1 %"
    is "$mib" '<=' 300 || fail "the agent takes $mib MiB"
    is "$took" '<=' "0.5 * $lasted" || fail "the agent takes $took ms in $lasted ms"
    curl -sf "$page/healthz" >/dev/null || fail "the agent is not well"
}

end_agent_soon() {
    local began=$SECONDS
    end_agent
    [ $((SECONDS - began)) -le 10 ] || fail "the agent took $((SECONDS - began)) s to end"
}
