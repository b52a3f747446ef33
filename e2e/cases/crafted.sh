#!/bin/bash
# Executables that lie about themselves: causes have names, nothing crashes, and the neighbours do not suffer.
# beside others
set -euo pipefail
. e2e/lib.sh
need_root

for name in honest random-frame far-headers huge-frame cut-off; do
    OUT=$name build_target layout
done
section() { # FILE NAME: its offset and size
    readelf -SW "$1" | sed 's/^ *\[ *\([0-9]*\)\]/\1/' | awk -v name="$2" '$2 == name { print "0x" $5, "0x" $6, $1 }'
}
put() { # FILE OFFSET: stdin goes there
    dd of="$1" bs=1 seek="$2" conv=notrunc status=none
}

# .eh_frame full of noise.
read -r offset size _ < <(section "$TMP/random-frame" .eh_frame)
LC_ALL=C awk -v n=$((size)) 'BEGIN { srand(7); for (i = 0; i < n; i++) printf "%c", 1 + int(rand() * 255) }' |
    put "$TMP/random-frame" $((offset))

# .eh_frame that claims to be 2^60 bytes long.
read -r _ _ index < <(section "$TMP/huge-frame" .eh_frame)
headers=$(od -An -t u8 -j 40 -N 8 "$TMP/huge-frame" | tr -d ' ')
printf '\0\0\0\0\0\0\0\020' | put "$TMP/huge-frame" $((headers + index * 64 + 32))

# Section headers 2^60 bytes behind the end of the file, and a file that ends where they should begin.
printf '\0\0\0\0\0\0\0\020' | put "$TMP/far-headers" 40
headers=$(od -An -t u8 -j 40 -N 8 "$TMP/cut-off" | tr -d ' ')
truncate -s "$headers" "$TMP/cut-off"

all=()
for name in honest random-frame far-headers huge-frame cut-off; do
    all+=("$TMP/$name 100;")
done
record -v --synth off -- sh -c "${all[*]}"
[ "$(value .parser_restarts)" = 0 ] || fail "the parser process died of it"
# A busy machine takes its time to make the tables: what came before them says nothing of what is in them.
expect '(.cut["table-pending"] // 0) * 2 - .samples' '<' 0
sed -i '/\[cut: table-pending\]/d' "$profile"
expect_share 98 'honest;_start;(.*;)?main;outer;middle;inner;burn' 'honest;.*;burn'
for name in far-headers cut-off; do # the program headers still tell everything but names
    expect_share 95 "$name;(.*;)?__libc_start_main;(.*;)?(\[${name}[^;]*;){4}\[${name}[^;]*" "$name;.*"
done
# The program headers lead to .eh_frame without the lie; noise in it leaves nothing to follow.
expect_share 95 'huge-frame;_start;(.*;)?main;outer;middle;inner;burn' 'huge-frame;.*;burn'
expect_share 95 'random-frame;\[cut: [a-z-]+\];(.*;)?burn' 'random-frame;(.*;)?burn'
expect '.cut | keys - ["frame-pointer", "no-rule", "file-failed", "unsupported-rule", "stack-read", "no-mapping", "stuck",
    "table-pending", "no-memory-map", "no-image"] | length' == 0

# The same when their instructions are read, too.
record -- sh -c "${all[*]}"
[ "$(value .parser_restarts)" = 0 ] || fail "the parser process died of their code"
sed -i '/\[cut: table-pending\]/d' "$profile"
expect_share 98 'honest;_start;(.*;)?main;outer;middle;inner;burn' 'honest;.*;burn'
