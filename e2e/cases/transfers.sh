#!/bin/bash
# Bytes of files and sockets are exact by function, and so is the sort of these: launched, attached, static, beside each
# other and alone. What calls made the kernel read from a disk is known.
set -euo pipefail
. e2e/lib.sh
need_root
need go

files=$(findmnt -n -o FSTYPE -T "$TMP")
build_target transfers
OUT=transfers-static build_target transfers -static

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

# What a call had the kernel read from a disk: all of a file that is not in the page cache, and nothing of one that is.
file=$(mktemp "$PWD/transfers.XXXXXX")
at_exit "rm -f '$file'"
dd if=/dev/urandom of="$file" bs=1M count=20 conv=fsync 2>/dev/null
fetched() { # LABEL OPTION-OF-DD...
    local label=$1
    shift
    record -e file -o "$TMP/x.pb.gz" -- dd if="$file" of=/dev/null bs=1M "$@" 2>/dev/null
    GOTOOLCHAIN=local go tool pprof -sample_index=fetched -unit=bytes -focus='\['"$label"'\]' -raw "$TMP/x.pb.gz" 2>/dev/null |
        awk '/^Samples:/ { getline; for (i = 1; i <= NF; i++) if ($i ~ /^fetched/) column = i; next }
            /^Locations$/ { exit }
            column && /^ *[0-9]+ / { sub(/:.*/, ""); n += $column } END { printf "%d", n }'
}
on_disk=$(findmnt -n -o FSTYPE -T "$PWD")
on_disk=${on_disk:0:7}
dd of="$file" oflag=nocache conv=notrunc,fdatasync count=0 2>/dev/null
cold=$(fetched "$on_disk")
warm=$(fetched "$on_disk")
direct=$(fetched "direct $on_disk" iflag=direct)
echo "20 MB: $cold bytes fetched, then $warm; $direct with O_DIRECT"
((cold >= 20971520 && cold < 23000000 && warm < 1000000 && direct == 20971520)) || fail "not what was read from the disk"
