#!/bin/bash
# Bytes of files and sockets are exact by function, and so is the sort of these: launched, attached, static, beside each
# other and alone. What calls made the kernel read from a disk is known.
# beside others
set -euo pipefail
. e2e/lib.sh
need_root
need go

build_target transfers
OUT=transfers-static build_target transfers -static

. e2e/io/lib.sh

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
read_all=$(awk '/^(dd|cat);/ { n += $NF } END { printf "%.0f", n }' "$TMP/x.collapsed")
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
