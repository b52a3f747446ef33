#!/bin/bash
# A container that holds more blocks than its share of those that an agent follows loses its own, which is counted; what
# its neighbour does with its blocks is seen.
# beside others
set -euo pipefail
. e2e/lib.sh
need_root
need go
need_kernel 6.6 "uprobe_multi links"
. e2e/agent/lib.sh

cat >"$TMP/holder.c" <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
// holder GO DONE BLOCKS: once the file GO is there, allocates, and makes the file DONE; with one block, frees it twice.
int main(int argc, char **argv)
{
    void *volatile p = NULL;
    while (access(argv[1], F_OK))
        usleep(50000);
    for (long i = 0; i < atol(argv[3]); i++)
        p = malloc(16);
    fclose(fopen(argv[2], "w"));
    if (atol(argv[3]) > 1)
        pause();
    free(p);
    free(p);
    return 0;
}
END
gcc -O1 -fno-builtin -w -o "$TMP/greedy" "$TMP/holder.c"
cp "$TMP/greedy" "$TMP/small"
start_agent --events badfree --host-processes off
share=$((4194304 / 4)) more=100000
make_container "$(printf 'ab%.0s' {1..32})"
(contained "$TMP/greedy" "$TMP/go" "$TMP/done" $((share + more))) &
at_exit "kill $!"
make_container "$(printf 'cd%.0s' {1..32})"
(contained "$TMP/small" "$TMP/later" "$TMP/end" 1) 2>/dev/null &
sleep 4 # until it is attached to both
touch "$TMP/go"
for ((i = 0; i < 400; i++)); do # a million and more at about 7 us each
    [ ! -e "$TMP/done" ] || break
    sleep 0.1
done
await [ -e "$TMP/done" ]
lost() { metric xprof_samples_lost_total 'cause="block"'; }
touch "$TMP/later"
await has_function host/cdcdcdcdcdcd 'double free'
echo "$(lost) blocks of the greedy container were lost"
if [ "$(lost)" -lt $more ] || [ "$(lost)" -gt $((more + 10000)) ]; then fail "$(lost) blocks were lost, not $more"; fi
end_agent
