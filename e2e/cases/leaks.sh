#!/bin/bash
# Nothing that was allocated is forgotten, neither after a recording nor after one that failed.
set -euo pipefail
. e2e/lib.sh
need_root

library=$("${CC:-gcc}" -print-file-name=liblsan.so)
[ -f "$library" ] || skip "this compiler has no leak sanitizer"
cat >"$TMP/leak.c" <<'C'
#include <stdlib.h>
int main(void) { for (int i = 0; i < 10; i++) { volatile char *p = malloc(100); p[0] = 1; p = 0; } }
C
"${CC:-gcc}" "$TMP/leak.c" -o "$TMP/leak"
if LD_PRELOAD=$library "$TMP/leak" 2>/dev/null; then skip "the leak sanitizer does not work here"; fi

OUT=busy build_target layout
"$TMP/busy" 60000 &
at_exit "kill $!"
outputs=()
for suffix in pb.gz html svg collapsed speedscope.json; do
    outputs+=(-o "$TMP/out.$suffix")
done
cd "$TMP"
expect_exit 0 '' env LD_PRELOAD="$library" "$XPROF" record -v --no-cache -a -d 2s --top 10 --summary s.json "${outputs[@]}"
expect_exit 0 '' env LD_PRELOAD="$library" "$XPROF" record --cache-dir "$TMP/cache" -d 300ms -p $!
expect_exit 1 'there is no process' env LD_PRELOAD="$library" "$XPROF" record -p 4194303 -o x.svg
expect_exit 1 'cannot run /nowhere' env LD_PRELOAD="$library" "$XPROF" record -o x.svg -- /nowhere
expect_exit 2 'there is no .nonsense' env LD_PRELOAD="$library" "$XPROF" record -a -e nonsense
expect_exit 0 '' env LD_PRELOAD="$library" "$XPROF" check
