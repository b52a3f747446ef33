#!/bin/bash
# Unwind tables that were not used for long make room for those that are: three programs, of whose tables two fit.
set -euo pipefail
. e2e/lib.sh
need_root
. e2e/agent/lib.sh

program() { # NAME: with 100,000 functions, so that its table has 400,000 rows and takes 1.6 of 4 MB
    awk -v name="$1" 'BEGIN {
        print ".text\n.globl main\nmain: .cfi_startproc\n1: dec %rcx\njmp 1b\n.cfi_endproc"
        for (i = 0; i < 100000; i++)
            printf "f%d: .cfi_startproc\npush %%rbx\n.cfi_adjust_cfa_offset 8\npush %%rbp\n.cfi_adjust_cfa_offset 8\npop %%rbp\n.cfi_adjust_cfa_offset -8\npop %%rbx\n.cfi_adjust_cfa_offset -8\nret\n.cfi_endproc\n", i
        print ".ascii \"" name "\"" }' >"$TMP/$1.s"
    gcc -no-pie "$TMP/$1.s" -o "$TMP/$1" -Wl,-z,noexecstack
    rm "$TMP/$1.s"
}
for name in one two three; do program $name; done
start_agent --table-memory 4M
for name in one two three; do
    "$TMP/$name" &
    burner=$!
    at_exit "kill $burner"
    await has_profiles "host/$name"
    for ((i = 0; i < 60; i++)); do # seconds: until whoever was not used for long has gone
        sleep 1
        rm -f "$out/host/$name"/*
        await has_profiles "host/$name"
        sleep 1
        if profiles_of "host/$name" | grep -q '_start'; then break; fi
    done
    profiles_of "host/$name" | grep -q '_start' || fail "$name never gets a table"
    kill $burner
    wait $burner || true
done
[ "$(metric xprof_files_evicted_total)" -gt 0 ] || fail "nothing was evicted: this proves nothing"
end_agent
