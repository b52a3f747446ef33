#!/bin/bash
# A program with more code without unwind information than can be analysed as a whole, and with frame pointers: the
# stretches that stacks touch get rows, so chains are whole and miss nobody, wherever the sample fell. Code that looks the
# same but uses rbp otherwise gets none.
# beside others
set -euo pipefail
. e2e/lib.sh
need_root
need jq

# f1 to f6 call each other across stretches; leaf spends its time entering and leaving. What lies between them is 20 MB of
# functions that keep frame pointers. rogue's code is among functions that use rbp for something else.
cat >"$TMP/main.c" <<'C'
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
extern void f1(long n), rogue(long n);
int main(int argc, char **argv)
{
    long n = atol(argv[1]);
    for (int i = 0; argc > 2 && !strcmp(argv[2], "many") && i < 1500; i++)
        mprotect(mmap(NULL, 8192, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 4096, PROT_NONE);
    for (;;)
        (argc > 2 && !strcmp(argv[2], "rogue") ? rogue : f1)(n);
}
C
{
    echo '.text'
    filler() { printf '.balign 16, 0xcc\n.rept %d\npush %%rbp\nmov %%rsp, %%rbp\n.fill 240, 1, 0x90\ncall leaf\npop %%rbp\nret\n.balign 16, 0xcc\n.endr\n' "$1"; }
    spoilt() { printf '.balign 16, 0xcc\n.rept %d\npush %%rbp\nmov %%rdi, %%rbp\n.fill 240, 1, 0x90\ncall leaf\npop %%rbp\nret\n.balign 16, 0xcc\n.endr\n' "$1"; }
    for i in 1 2 3 4 5 6; do
        filler 13000
        next="call f$((i + 1))"
        [ "$i" -lt 6 ] || next='call leaf; dec %rbx; jnz 1b'
        printf '.balign 16, 0xcc\n.globl f%d\n.type f%d, @function\nf%d: push %%rbp\nmov %%rsp, %%rbp\npush %%rbx\npush %%rax\nmov %%rdi, %%rbx\n1: %s\npop %%rax\npop %%rbx\npop %%rbp\nret\n' \
            "$i" "$i" "$i" "$next"
    done
    filler 2000
    printf '.balign 16, 0xcc\n.globl leaf\n.type leaf, @function\nleaf: push %%rbp\nmov %%rsp, %%rbp\nxor %%eax, %%eax\npop %%rbp\nret\n'
    filler 2000
    spoilt 2000
    printf '.balign 16, 0xcc\n.globl rogue\n.type rogue, @function\nrogue: push %%rbp\nmov %%rdi, %%rbp\n1: call leaf\ndec %%rbp\njnz 1b\npop %%rbp\nret\n'
    spoilt 2000
    echo '.section .note.GNU-stack, "", @progbits'
} >"$TMP/code.s"
gcc -O2 -fno-omit-frame-pointer -o "$TMP/large" "$TMP/main.c" "$TMP/code.s"
[ "$(size -A "$TMP/large" | awk '$1 == ".text" { print $2 }')" -gt 20000000 ] || fail "the program is too small"

# Stacks that stopped first wait for their rows.
whole='_start;(.*;)?main;f1;f2;f3;f4;f5;f6'
"$TMP/large" 10000 &
at_exit "kill -KILL $!"
HZ=399 record -p $! -d 4s
expect_samples 200
expect_complete 85 # on a machine that is busy with other things, the first ones do not wait for long enough
expect_share 85 "$whole;leaf" leaf # wherever in it
expect_no_stack '_start;(.*;)?(main|f[1-5]);leaf' # what a frame pointer says at the start of a function
expect_no_stack '_start;(.*;)?main;f[2-6]'
expect .synth_rows '>' 0
expect .late '>=' 1
expect .map_bytes '<' 40000000

# Where a look at one moment stops, the same rows are made.
chain() { # OPTION...: of the thread, in user space
    "$XPROF" stack "$@" --json $! | jq -r '.threads[0] | [.frames[] | select(.kind == "native").function] | join(";")'
}
for _ in 1 2 3 4 5; do
    chain --no-cache >"$TMP/chain"
    grep -qE '^(leaf;)?f6;f5;f4;f3;f2;f1;main;' "$TMP/chain" || fail "xprof stack: $(cat "$TMP/chain")"
done

# What was read is kept on disk: the next start has it from the beginning, and the other commands show it.
rows_of() { sed -nE 's/.*: stretches, ([0-9]+) rows.*/\1/p' "$errors"; }
CACHE=$TMP/cache HZ=399 record -v -p $! -d 3s
first=$(rows_of | tail -1)
CACHE=$TMP/cache HZ=399 record -v -p $! -d 1s
again=$(rows_of | head -1)
[ "${again:-0}" -ge $((first * 9 / 10)) ] || fail "$first rows were made, and the next start began with ${again:-none}"
expect_share 97 "$whole;leaf" leaf
"$XPROF" inspect --cache-dir "$TMP/cache" "$TMP/large" >"$TMP/text"
grep -qE 'synthesised for (9[0-9]|100)\.[0-9]+ % of [0-9,]+ bytes .* in the ([7-9]|1[0-9]) stretches' "$TMP/text" || fail "inspect: $(cat "$TMP/text")"
address=$(nm "$TMP/large" | awk '$3 == "f3" { print $1 }')
"$XPROF" inspect --no-cache "$TMP/large" "$address" | grep -q 'CFA = rsp+8' || fail "inspect knows no row of f3"

# In the agent it is the same, and its counters say so.
. e2e/agent/lib.sh
start_agent
by_stretches() { [ "$(metric xprof_synth_files_total '"stretches"')" -ge 1 ]; }
await by_stretches
end_agent
kill -KILL %1

# Thousands of mappings lie between its code and that of libc, where deferred stacks end.
"$TMP/large" 10000 many &
at_exit "kill -KILL $!"
has_many() { [ "$(wc -l <"/proc/$1/maps")" -gt 2900 ]; }
await has_many $!
HZ=399 record -p $! -d 2s
expect .late '>=' 1
expect '.cut["no-mapping"] // 0' '<=' 1
expect_share 85 "$whole;leaf" leaf
kill -KILL $!

"$TMP/large" 10000 rogue &
at_exit "kill -KILL $!"
record -p $! -d 2s
expect_no_stack 'main;leaf' # a frame pointer would say so
expect_share 90 '\[cut: (unproven|no-rule)\];(rogue(;leaf)?|leaf)'
