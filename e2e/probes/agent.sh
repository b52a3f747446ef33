# shellcheck shell=bash disable=SC2034
# Pods whose containers run a program of ours, and what an agent's profiles have of them. Sourced after e2e/agent/lib.sh and
# e2e/faults/lib.sh.
declare -A pids pods

# A pod whose container executes a program of its own once it is there: /tmp/crate, by the words of $SHELL_OF if these are set.
runs_shell() { # POD: sets pid
    pid=$(pgrep -f "^/bin/sh -c .*: pod-$1;")
}
pod_of() { # NAME NUMBER PROGRAM ANNOTATION...
    local pid
    run_pod "$1" "$2" "while [ ! -x /tmp/crate ]; do sleep 0.1; done; : pod-$1; ${SHELL_OF:-exec /tmp/crate}" "${@:4}"
    await runs_shell "$1"
    mkdir -p "/proc/$pid/root/tmp"
    cp "$TMP/$3" "/proc/$pid/root/tmp/new"
    mv "/proc/$pid/root/tmp/new" "/proc/$pid/root/tmp/crate"
    pids[$1]=$pid pods[$1]=$POD
}

followed() { # EVENT PROCESSES
    [ "$(metric xprof_probe_processes "event=\"$1\"")" = "$2" ]
}

# The sum of a type in all profiles of a container, in stacks with a function.
sum_of() { # POD TYPE/UNIT FUNCTION
    profiles_of "prod/$1/main" | awk -v type="$2" -v name="$3" '
        function count(  i, j, n, ids, with) {
            for (i in locations) {
                n = split(locations[i], ids, " ")
                with = 0
                for (j = 1; j <= n; j++) with = with || ids[j] in has
                sum += with * value[i]
            }
            split("", locations); split("", has); split("", value)
        }
        /^Samples:/ { count(); part = "samples"; getline; column = 0
            for (i = 1; i <= NF; i++) if ($i == type || $i == type "[dflt]") column = i; next }
        /^Locations/ { part = "locations"; next }
        /^Mappings/ { part = "" }
        part == "samples" && /^ *[0-9]+.*:/ { k++; value[k] = column ? $column + 0 : 0; sub(/^[^:]*:/, ""); locations[k] = $0 }
        part == "locations" { if ($1 ~ /^[0-9]+:$/) id = $1 + 0; for (i = 1; i <= NF; i++) if ($i == name) has[id] = 1 }
        END { count(); printf "%d\n", sum }'
}
counted() { # POD TYPE/UNIT FUNCTION NUMBER
    [ "$(sum_of "$@")" = "$4" ]
}
