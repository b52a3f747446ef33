# shellcheck shell=bash disable=SC2034,SC2154
# An agent that pushes to a Pyroscope and writes the same profiles into a folder, which is never away: the folder tells what
# there should be at the server. To be sourced after e2e/pyroscope/lib.sh and e2e/faults/sum.sh.

# The agent's $pages, and the server's from $port.
free_ports
pages=$port
page=http://127.0.0.1:$pages
free_ports

says() { # CONDITION of awk: sum(NAME, what its labels match)
    curl -sf "$page/metrics" >"$TMP/metrics" && awk "{ line[NR] = \$0 }
        function sum(name, labels, i, f, n, found) {
            for (i = 1; i <= NR; i++)
                if (split(line[i], f) == 2 && f[1] ~ \"^xprof_\" name \"(\$|{)\" && f[1] ~ labels) { n += f[2]; found = 1 }
            if (!found) missing = 1 # as if it were false: 0 would hide a name that has changed
            return n + 0
        }
        END { true = $1; exit !true || missing }" "$TMP/metrics"
}
# All samples taken so far are in profiles, and those in the spool.
in_spool() {
    local taken
    taken=$(metric xprof_samples_total)
    soon says "sum(\"profile_samples_total\", \"\") + sum(\"samples_lost_total\", \"\") >= $taken"
}
run_for() { # MS [PROGRAM]: its profiles are in the spool when this returns
    "$TMP/${2:-hotspot}" "$1"
    in_spool
}
sent() {
    says 'sum("export_pending_profiles", "") == 0 && sum("export_up", "") == 2'
}
nanoseconds_in() { # FOLDER: of all profiles there
    find "$out/$1" -name '*.pb.gz' | while read -r f; do go tool pprof -raw -symbolize=none "$f" 2>/dev/null; done |
        awk '/^Samples:/ { on = 1; getline; next } /^Locations/ { on = 0 } on && /^ *[0-9]+ +[0-9]+:/ { n += $2 }
            END { printf "%.0f", n }'
}
same() { # PROGRAM NANOSECONDS: so much of it is in Pyroscope
    [ "$(nanoseconds "$cpu" "{service_name=\"$1\"}")" = "$2" ]
}

# A Pyroscope, and what stands before it: $front. Its own URL is $url. set_mode() tells it what to do.
start_front() {
    front=http://127.0.0.1:$((port + 4))
    set_mode well
    python3 e2e/faults/push_proxy.py $((port + 4)) "$url" "$TMP/mode" "$TMP/pushes" &
    front_pid=$!
    at_exit "kill $front_pid"
    await bash -c "exec 3<>/dev/tcp/127.0.0.1/$((port + 4))"
}
set_mode() {
    echo "$*" >"$TMP/mode.new" && mv "$TMP/mode.new" "$TMP/mode"
}
