#!/bin/bash
# Probes of what was not made to be probed: all functions and all returns of libraries and of a program that leaves them in
# unusual ways; a program with a million symbols; crafted USDT notes. All is bounded, what cannot be is said in one line, and
# the program's result is right.
# beside others
set -euo pipefail
. e2e/lib.sh
need_root
need_kernel 6.6 'uprobe_multi links'

# With a C library and a dynamic linker of its own: a breakpoint in a file is in all processes that map it.
own=$TMP/lib
loader=$own/ld-linux-x86-64.so.2 libc=$own/libc.so.6
mkdir "$own"
cp "$(readlink -f /lib64/ld-linux-x86-64.so.2)" "$loader"
cp "$(readlink -f "$(gcc -print-file-name=libc.so.6)")" "$libc"
build_target returns -pthread "-Wl,-rpath,$own,--dynamic-linker=$loader"
target=$TMP/returns

unharmed() { # OPTION...: the program says what it says alone, and ends with 0
    local rc=0
    "$XPROF" record --no-cache --max-cost 90 "$@" -o "$profile" --summary "$summary" -- "$target" >"$TMP/out" 2>"$errors" ||
        rc=$?
    [ $rc = 0 ] || fail "exit $rc with $*"
    grep -qx 142 "$TMP/out" || fail "$(cat "$TMP/out"), not 142, with $*"
    expect .samples '>' "$least"
    echo "unharmed by $*: $(value .samples) samples; $(grep 'not probed' "$errors" || echo 'all are probed')"
}
least=10
unharmed -e "uprobe:$target:*"
unharmed -e "uretprobe:$target:*"
grep -q 'places are not probed: .*1 do not return' "$errors" || fail "it is not said that _start is left out"
unharmed -e "uprobe-latency:$target:*"
unharmed -e "uretprobe:$loader:*"
least=1000
unharmed -e "uprobe:$libc:*"
unharmed -e "uretprobe:$libc:*"
grep -qE '[5-9] do not return as other functions do' "$errors" || fail "it is not said what is left out of libc"
expect_exit 2 '_start does not return as others do, and would crash: use uprobe:' \
    "$XPROF" record -a -e "uretprobe:$target:_start"
expect_exit 2 'setjmp does not return as others do' "$XPROF" record -a -e 'uretprobe:libc.so.6:*setjmp'

# Attached to, and taken off, while it runs.
"$target" go >"$TMP/own" &
running=$!
at_exit "kill -KILL $running"
for form in uprobe uretprobe; do
    "$XPROF" record --no-cache -e "$form:$libc:*" -p $running -d 1s -o "$profile" 2>"$errors" || fail "a recording"
done
kill -TERM $running
wait $running || fail "it did not end well: $(cat "$TMP/own")"
grep -qx 142 "$TMP/own" || fail "$(cat "$TMP/own"), not 142"

# A million symbols.
awk 'BEGIN { print ".text\n.globl main\nmain: push %rbx\ncall many_7\nxor %eax, %eax\npop %rbx\nret"
    for (i = 0; i < 1000000; i++)
        printf ".type many_%d,@function\nmany_%d: push %%rbp\npop %%rbp\nret\n", i, i
    print ".section .note.GNU-stack,\"\",@progbits" }' >"$TMP/many.s"
gcc "$TMP/many.s" -o "$TMP/many"
rm "$TMP/many.s"
bounded() { # SECONDS COMMAND...
    local seconds=$1 start=$EPOCHREALTIME
    shift
    "$@"
    is "$EPOCHREALTIME - $start" '<' "$seconds" || fail "it took more than $seconds s: $*"
}
bounded 20 record -e "uprobe:$TMP/many:many_7" -- "$TMP/many"
expect .samples == 1
bounded 20 record -e "uprobe:$TMP/many:many_77??" -- "$TMP/many"
expect .samples == 0
bounded 20 expect_exit 2 'none of its 10000[0-9]* functions with a name is nothing' \
    "$XPROF" record -a -e "uprobe:$TMP/many:nothing"
bounded 20 expect_exit 2 'more functions, of which 10000 can be probed at once' \
    "$XPROF" record -a -e "uprobe:$TMP/many:*"

# Notes: a place without code, a semaphore in code, one that is odd, arguments that are none, texts without an end, lengths
# beyond the section. What is right among them is found.
cat >"$TMP/notes.c" <<'END'
#define NOTE(pc, base, semaphore, text)                                                       \
    __asm__(".pushsection .note.stapsdt,\"\",@note\n.balign 4\n.4byte 8, 9f-8f, 3\n"          \
            ".asciz \"stapsdt\"\n8: .8byte " pc ", " base ", " semaphore "\n" text "\n9: .balign 4\n.popsection")
#define GOOD ".asciz \"bad\"\n.asciz \"here\"\n.asciz \"4@%edi\""
NOTE("0xdeadbeef00000000", "0", "0", GOOD);
NOTE("0", "-1", "0", GOOD);
NOTE("place", "0", "place", GOOD);
NOTE("place", "0", "counter+1", GOOD);
NOTE("place", "0", "-1", GOOD);
NOTE("place", "0", "0", ".asciz \"odd\"\n.asciz \"arguments\"\n.asciz \"9@%edi x@y -4@ 8@(%rsp 4@$99999999999999999999 4@%zz\"");
NOTE("place", "0", "0", ".asciz \"odd\"\n.asciz \"many\"\n.rept 500\n.ascii \"4@%edi \"\n.endr\n.byte 0");
NOTE("place", "0", "0", ".ascii \"no end at all\"");
NOTE("place", "0", "0", ".fill 70000, 1, 'x'\n.byte 0, 0, 0");
NOTE("place", "0", "0", ".asciz \"\\033[31m\"\n.asciz \"$(touch gone)\"\n.asciz \"\"");
NOTE("place", "0", "0", ".asciz \"fine\"\n.asciz \"here\"\n.asciz \"4@%edi\"");
__asm__(".pushsection .note.stapsdt,\"\",@note\n.balign 4\n.4byte 8, 0xfffffff0, 3\n.asciz \"stapsdt\"\n.popsection");
unsigned short counter;
__attribute__((noinline)) int work(int i)
{
    __asm__ volatile(".globl place\nplace: nop" : "+D"(i));
    return i + counter;
}
int main(void)
{
    int n = 0;
    for (int i = 0; i < 100; i++)
        n += work(1);
    return n != 100;
}
END
gcc -O1 -no-pie "$TMP/notes.c" -o "$TMP/notes" 2>"$errors" || fail "the notes"
(cd "$TMP" && "$TMP/notes" && "$XPROF" list "usdt:$TMP/notes" >"$TMP/list" 2>"$errors") || fail "a list of notes"
[ ! -e "$TMP/gone" ] || fail "a name was run"
! grep -q $'\033' "$TMP/list" "$errors" || fail "a terminal would see control characters"
grep -qx "usdt:$TMP/notes:fine:here arg1" "$TMP/list" || { cat "$TMP/list" && fail "the good one"; }
record -e "usdt:$TMP/notes:fine:here" --value arg1 -- "$TMP/notes" || fail "the program was harmed"
echo 1 >"$TMP/x.sample"
n=$(samples_of 'notes;.*')
[ "$n" = 100 ] || fail "$n, not 100"
for probe in 'bad:*' 'odd:*' '*:*'; do
    rc=0
    record -e "usdt:$TMP/notes:$probe" -- "$TMP/notes" || rc=$?
    [ $rc = 0 ] || { [ $rc -le 2 ] && [ "$(wc -l <"$errors")" = 1 ]; } || fail "exit $rc of $probe"
    echo "$probe: exit $rc, $(head -n 1 "$errors")"
done
