#!/bin/bash
# Bytes of files and sockets are exact by function: launched, attached, static, beside each other and alone.
set -euo pipefail
. e2e/lib.sh
need_root
need go

build_target transfers
OUT=transfers-static build_target transfers -static

# What each function of the program has of the values of a kind, beside what it says itself.
compare() { # KIND PROFILE OWN IN OUT: names of the values
    GOTOOLCHAIN=local go tool pprof -symbolize=none -raw "$2" >"$TMP/raw" 2>/dev/null
    awk -v kind="$1" -v in_name="$4" -v out_name="$5" '
        FILENAME == ARGV[1] { if ($1 == kind) { own[$2] = $3 " " $4 " " $5 } next }
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
                if (who != "") { ins[who] += in_of[i]; outs[who] += out_of[i]; all[who] += calls[i] }
            }
            for (f in own) {
                seen = all[f] + 0 " " ins[f] + 0 " " outs[f] + 0; checked++
                if (seen != own[f]) { bad = 1; printf "%s %s: %s seen, %s done\n", kind, f, seen, own[f] }
            }
            exit bad || !checked
        }' "$3" "$TMP/raw" || fail "not what $1 moved"
}

for program in transfers transfers-static; do
    record -e file,net -o "$TMP/x.pb.gz" -- timeout 20 "$TMP/$program" "$TMP" >"$TMP/own"
    expect '.lost["ring-full"]' == 0
    expect .lost.sum == 0
    compare file "$TMP/x.pb.gz" "$TMP/own" read written
    compare net "$TMP/x.pb.gz" "$TMP/own" received sent
done
expect_complete 99

# A process that runs already, and one kind alone: what the other one counts is not there.
"$TMP/transfers" "$TMP" 2 >"$TMP/own" &
pid=$!
record -e net -p $pid -d 5s -o "$TMP/x.pb.gz"
wait $pid
compare net "$TMP/x.pb.gz" "$TMP/own" received sent
GOTOOLCHAIN=local go tool pprof -symbolize=none -raw "$TMP/x.pb.gz" 2>/dev/null | grep -q with_pwrite &&
    fail "files are among sockets"

# A program of others: dd and cat, by what files they read.
record -e file -o "$TMP/x.collapsed" -- sh -c 'dd if=/dev/zero of=/dev/null bs=1M count=100 2>/dev/null; cat /bin/bash' \
    >"$TMP/bash"
read_all=$(awk '/^(dd|cat);.*main/ { n += $NF } END { printf "%.0f", n }' "$TMP/x.collapsed")
own=$((104857600 + $(stat -c %s /bin/bash)))
((read_all >= own && read_all < own + 100000)) || fail "dd and cat read $own bytes, $read_all were seen"
