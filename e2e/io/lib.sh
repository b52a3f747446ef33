# shellcheck shell=bash
# What cases about bytes of files and sockets share; to be sourced after e2e/lib.sh.

. e2e/pprof.sh
files=$(findmnt -n -o FSTYPE -T "$TMP") # the sort of those in $TMP

# What each function of the program has of the values of a kind, beside what it says itself.
compare() { # KIND PROFILE OWN IN OUT: names of the values
    profile_rows "$2" >"$TMP/rows"
    awk -F '\t' -v kind="$1" -v in_name="$4" -v out_name="$5" -v files="${files:0:7}" '
        FILENAME == ARGV[1] {
            split($0, w, " ")
            if (w[1] == kind) { own[w[2]] = w[3] " " w[4] " " w[5]; sort[w[2]] = w[6] == "files" ? files : w[6] }
            next
        }
        FNR == 1 { n = split($0, names, " "); for (i = 1; i <= n; i++) column[names[i]] = i; next }
        {
            split($1, v, " "); k = split($2, frame, ";"); who = ""; calls = v[column[kind "_calls"]]
            for (j = 1; j <= k; j++)
                if (match(frame[j], /with_[a-z0-9_]+/)) who = substr(frame[j], RSTART, RLENGTH)
            if (calls && sort[who] != "" && sort[who] != "-" && !index(frame[1], "[" sort[who] "]")) {
                bad = 1; print kind, who ": no", sort[who] ":", frame[1] }
            if (who != "") { ins[who] += v[column[in_name]]; outs[who] += v[column[out_name]]; all[who] += calls }
        }
        END {
            for (f in own) {
                seen = all[f] + 0 " " ins[f] + 0 " " outs[f] + 0; checked++
                if (seen != own[f]) { bad = 1; printf "%s %s: %s seen, %s done\n", kind, f, seen, own[f] }
            }
            exit bad || !checked
        }' "$3" "$TMP/rows" || fail "not what $1 moved"
}

# The sum of a value, of samples whose stack matches REGEX (all of them without it), and other options of pprof.
sum_of() { # PROFILE VALUE [REGEX [OPTION...]]
    local options=("-sample_index=$2")
    if [ -n "${3:-}" ]; then options+=("-focus=$3"); fi
    profile_rows "$1" "${options[@]}" "${@:4}" | awk -F '\t' -v value="$2" '
        NR == 1 { n = split($0, names, " "); for (i = 1; i <= n; i++) if (names[i] == value) column = i; next }
        column { split($1, v, " "); sum += v[column] }
        END { printf "%.0f\n", sum }'
}
