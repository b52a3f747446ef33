# shellcheck shell=bash
# What cases about bytes of files and sockets share; to be sourced after e2e/lib.sh.

files=$(findmnt -n -o FSTYPE -T "$TMP") # the sort of those in $TMP

# What each function of the program has of the values of a kind, beside what it says itself.
compare() { # KIND PROFILE OWN IN OUT: names of the values
    GOTOOLCHAIN=local go tool pprof -symbolize=none -raw "$2" >"$TMP/raw" 2>/dev/null
    awk -v kind="$1" -v in_name="$4" -v out_name="$5" -v files="${files:0:7}" '
        FILENAME == ARGV[1] { if ($1 == kind) { own[$2] = $3 " " $4 " " $5; sort[$2] = $6 == "files" ? files : $6 } next }
        /^Samples:/ { getline; for (i = 1; i <= NF; i++) { sub(/\/.*/, "", $i)
                if ($i == in_name) a = i; if ($i == out_name) b = i; if ($i == kind "_calls") c = i } next }
        /^Locations$/ { places = 1; next }
        /^Mappings$/ { places = 0 }
        !places && /^ *[0-9]+ +[0-9]+.*:/ && !/:\[/ {
            n++; split($0, half, ":"); split(half[1], v, " "); in_of[n] = v[a]; out_of[n] = v[b]; calls[n] = v[c]
            stack[n] = half[2]; next }
        places && /^ *[0-9]+:/ { id = $1; sub(/:/, "", id); name[id] = $0 }
        END {
            for (i = 1; i <= n; i++) {
                k = split(stack[i], ids, " "); who = ""
                for (j = 1; j <= k; j++)
                    if (match(name[ids[j]], /with_[a-z0-9_]+/)) who = substr(name[ids[j]], RSTART, RLENGTH)
                if (calls[i] && sort[who] != "" && sort[who] != "-" && !index(name[ids[1]], "[" sort[who] "]")) {
                    bad = 1; print kind, who ": no", sort[who] ":", name[ids[1]] }
                if (who != "") { ins[who] += in_of[i]; outs[who] += out_of[i]; all[who] += calls[i] }
            }
            for (f in own) {
                seen = all[f] + 0 " " ins[f] + 0 " " outs[f] + 0; checked++
                if (seen != own[f]) { bad = 1; printf "%s %s: %s seen, %s done\n", kind, f, seen, own[f] }
            }
            exit bad || !checked
        }' "$3" "$TMP/raw" || fail "not what $1 moved"
}

# The sum of a value, of samples whose stack matches REGEX (all of them without it), and other options of pprof.
sum_of() { # PROFILE VALUE [REGEX [OPTION...]]
    local options=()
    if [ -n "${3:-}" ]; then options+=("-focus=$3"); fi
    GOTOOLCHAIN=local go tool pprof -symbolize=none -raw -sample_index="$2" "${options[@]}" "${@:4}" "$1" 2>/dev/null |
        awk -v value="$2" '
            /^Samples:/ { getline; for (i = 1; i <= NF; i++) { split($i, half, "/"); if (half[1] == value) column = i } next }
            /^Locations$/ { exit }
            column && /^ *[0-9]+ .*:/ && !/:\[/ { sub(/:.*/, ""); n += $column }
            END { printf "%.0f\n", n }'
}
