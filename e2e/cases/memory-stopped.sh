#!/bin/bash
# Processes that a recording stops until it has attached to them go on: under sudo, when the groups of its user are looked
# up; when two events stop them; and when the recording is killed, which leaves no helper behind, however many processes
# it was attached to.
# beside others
set -euo pipefail
. e2e/lib.sh
need_root
need go
need_kernel 6.6 "uprobe_multi links"

[ "$(SUDO_UID=65534 SUDO_GID=65534 timeout 60 "$XPROF" record --no-cache -e memory -o "$TMP/x.pb.gz" -- id -u 2>"$errors")" = 65534 ] ||
    fail "a command does not run as the user of sudo"

# Programs one after the other: nearly always, one of them is stopped.
cp /bin/true "$TMP/step"
cat >"$TMP/loop" <<END
#!/bin/bash
trap '' TERM
touch $TMP/began
for ((i = 0; i < \$1; i++)); do
    $TMP/step
done
echo "\$i" >$TMP/done
END
chmod +x "$TMP/loop"
for events in memory memory,badfree; do
    rm -f "$TMP/done"
    record -e $events -- "$TMP/loop" 40
    [ "$(cat "$TMP/done")" = 40 ] || fail "-e $events: the command did not come to its end"
done

# With two events, both have attached before it goes on: neither misses the first blocks of a program, nor their frees.
cat >"$TMP/first.c" <<'END'
#include <stdlib.h>
__attribute__((noinline)) static void *allocates(void)
{
    void *p = malloc(1000);
    __asm__ volatile("" ::"r"(p) : "memory");
    return p;
}
__attribute__((constructor)) static void begin(void)
{
    void *volatile p = NULL;
    for (int i = 0; i < 7; i++)
        p = allocates();
    free(p);
    free(p); // glibc ends the program
}
int main(void)
{
    return 0;
}
END
gcc -O1 -fno-builtin -w -o "$TMP/first" "$TMP/first.c"
total() { # SAMPLE_TYPE FUNCTION
    GOTOOLCHAIN=local go tool pprof -sample_index="$1" -top -cum -symbolize=none "$TMP/x.pb.gz" 2>/dev/null |
        awk -v name="$2" '$6 == name { n = $4 } END { print n + 0 }'
}
for events in memory,badfree badfree,memory; do
    record -e $events --memory-exact -o "$TMP/x.pb.gz" -- sh -c "for i in 1 2 3 4 5 6 7 8 9 10; do $TMP/first; done; true" \
        >/dev/null
    echo "-e $events: $(total alloc_objects allocates) blocks, $(total badfree begin) wrong frees"
    [ "$(total alloc_objects allocates)" = 70 ] || fail "-e $events: blocks are missing"
    [ "$(total badfree begin)" = 10 ] || fail "-e $events: wrong frees are missing"
done

stopped() { ps -eo stat=,args= | awk -v of="$TMP/" '$1 ~ /^T/ && index($0, of) { print }'; }
any_stopped() { stopped | grep -vq record; }
ended() { [ -e "$TMP/done" ]; }
guards() { pgrep -xc xprof-guard || true; }
for round in 1 2 3; do
    rm -f "$TMP/done" "$TMP/began"
    "$XPROF" record --no-cache -e memory -o "$TMP/x.pb.gz" -- "$TMP/loop" 1000 2>/dev/null &
    xprof=$!
    await [ -e "$TMP/began" ]
    sleep 2
    kill -STOP $xprof # nobody lets go of the next one
    await any_stopped
    kill -KILL $xprof
    killed=$SECONDS
    until [ "$(guards)" = 0 ]; do
        [ $((SECONDS - killed)) -le 5 ] || fail "killed (round $round): $(guards) helpers are there after 5 s"
        sleep 0.1
    done
    await ended || fail "killed (round $round): still there: $(stopped)"
done
