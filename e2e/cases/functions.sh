#!/bin/bash
# Functions of programs and libraries as events: calls and returns are counted exactly, by argument or result, with
# conditions on them, and with whole stacks; of a program that is launched, attached to, in another root directory; of a library
# for all; and what is misspelt is named.
# beside others
set -euo pipefail
. e2e/lib.sh
need_root
need_kernel 6.6 'uprobe_multi links'

PROGRAM=xp_on_function
. e2e/probes/lib.sh

for way in launched attached; do
    $way -e "uprobe:$target:weigh"
    exactly 100 "$root;apples;weigh"
    exactly 50 "$root;pears;weigh"
    $way -e "uprobe:$target:weigh" --value arg2:bytes
    exactly 5050 "$root;apples;weigh"
    expect_no_stack "$root;pears;weigh" # less than nothing is nothing
    $way -e "uprobe:$target:weigh" --filter 'arg1 == "app*" && arg2 > 90 || arg2 == -8'
    exactly 10 "$root;apples;weigh"
    exactly 10 probes
    $way -e "uretprobe:$target:weigh" --filter 'retval == -1'
    exactly 50 "$root;pears"
    exactly 50 probes
    $way -e "uprobe:$target:*p*s"
    exactly 1 "$root;apples"
    exactly 1 "$root;pears"
    echo "$way: calls, returns, sums and conditions are exact"
done

# A library by its bare name, whoever calls it; and by an offset in the file.
exact -e uprobe:libc.so.6:getpid -- python3 -c 'import os
for i in range(64): os.getpid()'
exactly 64 'python3;.*;getpid'
# A process that ends before its files could be read has whole stacks all the same.
echo '__attribute__((noinline)) int plug(int x) { __asm__(""); return x + 1; }' >"$TMP/plug.c"
echo 'int plug(int); int main(void) { return plug(1) + plug(2) - 5; }' >"$TMP/brief.c"
gcc -O1 -shared -fPIC "$TMP/plug.c" -o "$TMP/libplug.so"
gcc -O1 "$TMP/brief.c" -o "$TMP/brief" "$TMP/libplug.so"
for _ in 1 2 3 4 5; do
    exact --no-cache -e "uprobe:$TMP/libplug.so:plug" -- "$TMP/brief"
    exactly 2 'brief;_start;.*;main;plug'
done
# Each copy of a library that runs is another file: those in containers.
echo '__attribute__((noinline)) int twin(int x) { __asm__(""); return x + 1; }' >"$TMP/twin.c"
echo 'int getchar(void); int twin(int);
int main(void) { for (int i = 0, c = getchar(); i < 50 && c; i++) twin(i); getchar(); return 0; }' >"$TMP/twins.c"
for copy in one two; do
    mkdir "$TMP/$copy"
    gcc -O1 -shared -fPIC "$TMP/twin.c" -o "$TMP/$copy/libtwin.so"
    gcc -O1 "$TMP/twins.c" -o "$TMP/$copy/$copy" "$TMP/$copy/libtwin.so"
    mkfifo "$TMP/$copy/gate"
    "$TMP/$copy/$copy" <"$TMP/$copy/gate" &
    at_exit "kill -KILL $! 2>/dev/null"
done
exec 3>"$TMP/one/gate" 4>"$TMP/two/gate"
"$XPROF" record -a -d 20s -e uprobe:libtwin.so:twin -o "$TMP/x.collapsed" 2>"$errors" &
recorder=$!
await holds_program xp_on_function $recorder
sleep 0.3
echo >&3
echo >&4
sleep 0.3
kill -INT $recorder
wait $recorder || fail "a recording of both"
exactly 50 'one;.*;main;twin'
exactly 50 'two;.*;main;twin'
exec 3>&- 4>&-
echo "a bare name is that of all copies that run"
# What returns an int leaves half of the register to chance, here to zeros.
exact -e uretprobe:libc.so.6:close --filter '(int)retval < 0' -- python3 -c 'import os
for i in range(64):
    try: os.close(999)
    except OSError: pass'
exactly 64 'python3;.*'
# A stripped program is known by its debug file, or by what is compressed in it.
objcopy --only-keep-debug "$target" "$TMP/names.debug"
(cd "$TMP" && strip -o bare "$target" && objcopy --add-gnu-debuglink=names.debug bare)
exact -e "uprobe:$TMP/bare:weigh" -- "$TMP/bare"
exactly 150 "bare;.*;(apples|pears);weigh"
"$XPROF" list "uprobe:$TMP/bare:weigh" | grep -q 'bare:weigh ' || fail "its functions are not listed"
mkdir "$TMP/elsewhere" && mv "$TMP/names.debug" "$TMP/elsewhere"
expect_exit 2 'it is stripped, so that nothing is called weigh' "$XPROF" record -e "uprobe:$TMP/bare:weigh" -- "$TMP/bare"
exact -e "uprobe:$TMP/bare:weigh" --debug-dir "$TMP/elsewhere" -- "$TMP/bare"
exactly 150 "bare;.*;(apples|pears);weigh"
(cd "$TMP" && objcopy -S --keep-symbol=weigh elsewhere/names.debug mini && xz mini &&
    strip -o packed "$target" && objcopy --add-section .gnu_debugdata=mini.xz packed)
exact -e "uprobe:$TMP/packed:weigh" -- "$TMP/packed"
exactly 150 "packed;.*;weigh"
echo "stripped: by a debug file, in a directory of one's own, by MiniDebugInfo"
offset=$(readelf -sW "$target" | awk '$8 == "pears" { print $2 }')
launched -e "uprobe:$target:0x$offset"
exactly 1 "$root;pears"

# A breakpoint within an instruction would change what the program does.
begins=$(objdump -d --disassemble=weigh "$target" | awk '$1 ~ /^[0-9a-f]+:$/ { print $1 }' | tr -d :)
first=$(head -n 1 <<<"$begins")
for ((at = 1; at < 12; at++)); do
    if grep -qx "$(printf %x $((0x$first + at)))" <<<"$begins"; then
        launched -e "uprobe:$target:weigh+$at"
        exactly 150 "$root;(apples|pears);weigh"
    else
        expect_exit 2 "no instruction begins at weigh.$at:" "$XPROF" record -e "uprobe:$target:weigh+$at" -- "$target"
    fi
done
expect_exit 2 'no instruction begins at weigh.99999:' "$XPROF" record -e "uprobe:$target:weigh+99999" -- "$target"
expect_exit 2 'no code begins at 0xffffffff' "$XPROF" record -e "uprobe:$target:0xffffffff" -- "$target"

# Names as C++ and Go have them: brackets, pairs of colons, receivers. With parameters or for all.
cat >"$TMP/zoo.cpp" <<'END'
namespace zoo {
struct animal {
    __attribute__((noinline)) long feed(int n) { __asm__ volatile(""); return n; }
    template <class T> __attribute__((noinline)) T weigh(T a) { __asm__ volatile(""); return a; }
};
__attribute__((noinline)) long pet(int n, char) { __asm__ volatile(""); return n; }
__attribute__((noinline)) long pet(const char *s) { __asm__ volatile(""); return *s; }
}
int main()
{
    zoo::animal a;
    for (int i = 0; i < 20; i++) {
        a.feed(i), a.weigh(i), a.weigh(2.0), zoo::pet(i, 'x');
        if (i < 3) zoo::pet("x");
    }
}
END
g++ -O1 "$TMP/zoo.cpp" -o "$TMP/zoo"
named() { # PROGRAM NUMBER FUNCTION
    exact -e "uprobe:$1:$3" -- "$1"
    exactly "$2" '(.*;)?main(.main)?;.*'
}
named "$TMP/zoo" 20 zoo::animal::feed
named "$TMP/zoo" 20 'zoo::animal::feed(int)'
named "$TMP/zoo" 20 'zoo::animal::weigh<int>'
named "$TMP/zoo" 40 'zoo::animal::weigh*'
named "$TMP/zoo" 23 zoo::pet
named "$TMP/zoo" 20 'zoo::pet(int, char)'
named "$TMP/zoo" 3 'zoo::pet(char const*)'
expect_exit 2 'near it: zoo::animal::feed' "$XPROF" record -a -e "uprobe:$TMP/zoo:animal::feed"
"$XPROF" list "uprobe:$TMP/zoo:zoo::pet" >"$TMP/list" || fail "the list of C++"
grep -qE "^uprobe:$TMP/zoo:zoo::pet\(char const\*\) (emulated|single-stepped) _ZN3zoo3petEPKc\$" "$TMP/list" || fail "$(cat "$TMP/list")"
while read -r name; do # is what -e takes
    exact -e "$name" -- "$TMP/zoo"
    exactly "$([[ $name == *char\ const* ]] && echo 3 || echo 20)" '(.*;)?main;.*'
done < <(sed -E 's/ (emulated|single-stepped).*//' "$TMP/list")
if command -v go >/dev/null; then
    cat >"$TMP/zoo.go" <<'END'
package main

type T struct{ n int }
type OtherT struct{ n int }
type Box[V any] struct{ v V }

//go:noinline
func (t *T) Add(k int) { t.n += k }

//go:noinline
func (t *OtherT) Add(k int) { t.n += k }

//go:noinline
func (b *Box[V]) Get() V { return b.v }

func main() {
	t, o, b := &T{}, &OtherT{}, &Box[int]{3}
	for i := 0; i < 20; i++ {
		t.Add(i)
		o.Add(b.Get())
	}
}
END
    (cd "$TMP" && go build -o zoo-go zoo.go)
    named "$TMP/zoo-go" 20 'main.(*T).Add'
    named "$TMP/zoo-go" 20 'main.(*Box[...]).Get'
    named "$TMP/zoo-go" 20 'main.(*Box[go.shape.int]).Get'
fi

# Named later.
"$XPROF" record --raw -e "uprobe:$target:weigh" --value arg2:bytes -o "$TMP/raw.pb.gz" -- "$target" 2>"$errors" ||
    fail "a raw recording"
"$XPROF" symbolize -o "$profile" "$TMP/raw.pb.gz" 2>"$errors" || fail "xprof symbolize"
exactly 5050 "$root;apples;weigh"

# In the root directory of a process.
mkdir "$TMP/root" "$TMP/there"
cp "$target" "$TMP/root/program"
unshare -m --propagation private sh -c "mount --bind $TMP/root $TMP/there && exec sleep 60" &
inside=$!
at_exit "kill $inside"
await test -e "/proc/$inside/root$TMP/there/program"
exact -e "uprobe:pid:$inside:$TMP/there/program:weigh" -- "$TMP/root/program"
exactly 100 "program;.*;apples;weigh"

# All of a library at once: what the kernel refuses to probe is left out.
exact -e 'uprobe:libc.so.6:*' --filter 'comm == "probes"' -- "$target"
exactly 300 "$root;open_there;(__libc_)?open(64)?"
expect_complete 99

# What there is to probe, and what the shell would offer.
"$XPROF" list "uprobe:$target:app" | grep -qE "^uprobe:$target:apples (emulated|single-stepped)$" || fail "the list"
"$XPROF" list --json uprobe:libc.so.6 >"$TMP/list"
jq -e "map(select(.probe == \"indirect\")) | map(.name) | index(\"uprobe:libc.so.6:strlen\")" "$TMP/list" >"$TMP/out" ||
    fail "the list of libc"
"$XPROF" list "uprobe:pid:$inside:slee" | grep -q "^uprobe:pid:$inside:/.*sleep" ||
    expect_exit 1 'it has no function' "$XPROF" list "uprobe:pid:$inside:slee" # stripped
expect_exit 1 'it has no function' "$XPROF" list "uprobe:$target:no-such-function"
"$XPROF" completion bash >"$TMP/completion"
offers() { # LINE
    bash -c '. "$0"; COMP_WORDS=("$1") COMP_LINE=$2 COMP_POINT=${#2}; COMP_CWORD=0; _xprof; echo "${COMPREPLY[@]}"' \
        "$TMP/completion" "$XPROF" "$1"
}
[ "$(offers "xprof record -e uprobe:$target:wei")" = weigh ] || fail "completion of a function"
[ "$(offers "xprof record -e uprobe-latency:$target:wei")" = weigh ] || fail "completion of a function that is timed"
[ "$(offers "xprof record -e uprobe:$TMP/zoo:zoo::pe")" = pet ] || fail "completion of C++"
[ "$(offers "xprof record -e cpu,uretprobe:$target:pea")" = pears ] || fail "completion of a second event"
[ "$(offers "xprof list uprobe:${target%s}")" = "$target" ] || fail "completion of a file"
offers 'xprof record -e tracepoint:sched:sched_swi' | grep -qw sched_switch || fail "completion of a tracepoint"
offers 'xprof record -e syscall:opena' | grep -qw openat2 || fail "completion of a system call"

# Names that a program has crafted are not run by a shell, and are patterns.
# shellcheck disable=SC2016 # it is to stay as it is
printf '.globl "x$(touch gone)"\n.type "x$(touch gone)",@function\n"x$(touch gone)": push %%rbp\npop %%rbp\nret\n' >"$TMP/x.s"
echo 'int main(void) { return 0; }' >"$TMP/x.c"
gcc "$TMP/x.c" "$TMP/x.s" -o "$TMP/crafted" 2>"$TMP/out" || fail "crafted names"
[ "$(cd "$TMP" && offers "xprof record -e uprobe:$TMP/crafted:x")" = "" ] || fail "a crafted name is offered"
[ ! -e "$TMP/gone" ] || fail "a crafted name was run"
name=$("$XPROF" list "uprobe:$TMP/crafted:x*gone*" | sed 's/ [a-z-]*$//')
"$XPROF" record -e "$name" -o "$TMP/x.collapsed" -- true 2>"$errors" || fail "$name is no pattern"

# A program with more functions than are listed or probed at once.
awk 'BEGIN { print ".globl main\nmain: push %rbx\ncall many_7\nxor %eax, %eax\npop %rbx\nret"
    for (i = 0; i < 200000; i++)
        printf ".globl many_%d\n.type many_%d,@function\nmany_%d: push %%rbp\npop %%rbp\nret\n", i, i, i }' >"$TMP/many.s"
gcc "$TMP/many.s" -o "$TMP/many" 2>"$TMP/out" || fail "many functions"
"$XPROF" list "uprobe:$TMP/many" >"$TMP/list" 2>"$errors" || fail "a list of many"
[ "$(wc -l <"$TMP/list")" = 100000 ] || fail "a list of $(wc -l <"$TMP/list")"
grep -qE '[0-9]+ more are left out' "$errors" || fail "a list that does not say that it is cut"
expect_exit 2 'more functions, of which 10000 can be probed at once' "$XPROF" record -a -e "uprobe:$TMP/many:*"
exact -e "uprobe:$TMP/many:many_?" -- "$TMP/many"
exactly 1 'many;.*many_7' # a program of 1 ms: the rest of the stack is not known by then, if its code has no CFI

# What is misspelt is named, with what is like it; who would be harmed is not touched.
expect_exit 2 'none of its [0-9]+ functions with a name is weig; near it: weigh' "$XPROF" record -a -e "uprobe:$target:weig"
expect_exit 2 'No such file' "$XPROF" record -a -e uprobe:/nowhere/x:y
expect_exit 2 'no-such-library: No such file' "$XPROF" record -a -e uprobe:no-such-library:y
expect_exit 2 'is chosen when a program starts' "$XPROF" record -a -e uprobe:libc.so.6:strlen
expect_exit 2 'expected uprobe:FILE:FUNCTION' "$XPROF" record -a -e uprobe:x
expect_exit 2 'no field arg7' "$XPROF" record -a -e "uprobe:$target:weigh" --filter 'arg7 == 1'
expect_exit 2 'no number of that name' "$XPROF" record -a -e "uretprobe:$target:weigh" --value arg1
if command -v go >/dev/null; then
    printf 'package main\nfunc main() {}\n' >"$TMP/x.go"
    go build -o "$TMP/gone" "$TMP/x.go"
    expect_exit 2 'a Go program, which would crash' "$XPROF" record -a -e "uretprobe:$TMP/gone:main.main"
    expect_exit 2 'a Go program, which would crash' "$XPROF" record -a -e "uretprobe:$TMP/gone:0x1000"
fi
