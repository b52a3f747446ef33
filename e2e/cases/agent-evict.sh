#!/bin/bash
# Unwind tables that were not used for long make room for those that are: three programs, of whose tables two fit.
# beside others
set -euo pipefail
. e2e/lib.sh
need_root
. e2e/agent/lib.sh

program() { # NAME COUNT: with so many functions of four rows each; 100,000 take 1.6 of 4 MB
    awk -v n="$2" 'BEGIN {
        print ".text\n.globl main\nmain: .cfi_startproc\n1: dec %rcx\njmp 1b\n.cfi_endproc"
        for (i = 0; i < n; i++)
            printf "f%d: .cfi_startproc\npush %%rbx\n.cfi_adjust_cfa_offset 8\npush %%rbp\n.cfi_adjust_cfa_offset 8\npop %%rbp\n.cfi_adjust_cfa_offset -8\npop %%rbx\n.cfi_adjust_cfa_offset -8\nret\n.cfi_endproc\n", i }' >"$TMP/$1.s"
    gcc -no-pie "$TMP/$1.s" -o "$TMP/$1" -Wl,-z,noexecstack
    rm "$TMP/$1.s"
}
program one 100000 # the same unwind information would be one table for all three
program two 100001
program three 100002
make_container "$(printf 'cd%.0s' {1..32})"
start_agent --table-memory 4M --host-processes off # the machine's other programs need tables, too
in_files() { # whole stacks of a program: its table is there
    has_function host/cdcdcdcdcdcd "$1" && has_function host/cdcdcdcdcdcd _start
}
for name in one two three; do
    rm -rf "$out/host" 2>/dev/null || rm -rf "$out/host" # the agent may have just put one there
    (contained "$TMP/$name") &
    burner=$!
    at_exit "kill $burner"
    for ((i = 0; ; i++)); do # seconds: until whoever was not used for long has gone
        sleep 1
        if in_files "$name"; then break; fi
        [ $i -lt 60 ] || fail "$name never gets a table"
        rm -rf "$out/host" 2>/dev/null || rm -rf "$out/host" # the agent may have just put one there
    done
    kill $burner
    wait $burner || true
done
[ "$(metric xprof_files_evicted_total)" -gt 0 ] || fail "nothing was evicted: this proves nothing"
end_agent
