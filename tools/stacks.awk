# The stack that eBPF programs take together with the functions that they call, from what `llvm-objdump -d -r` says of an
# object: a complaint for each program that takes more than 512 bytes. Old kernels count each function's in units of 32
# bytes (kernel/bpf/verifier.c: check_max_stack_depth), and refuse the program. All refuse one in which more than 8
# functions are nested (MAX_CALL_FRAMES).
#   awk -v file=bpf/NAME.bpf.c -f tools/stacks.awk
function number(text,    n, i) {
    if (text !~ /^0x/)
        return text + 0
    for (i = 3; i <= length(text); i++)
        n = 16 * n + index("0123456789abcdef", substr(text, i, 1)) - 1
    return n
}
function note(bytes) {
    if (bytes <= 512 && bytes > own[f])
        own[f] = bytes
}
function worst(name,    list, n, i, most, all) {
    if (name in known)
        return known[name]
    n = split(calls[name], list, " ")
    for (i = 1; i <= n; i++) {
        all = list[i] in own ? worst(list[i]) : 0
        most = all > most ? all : most
    }
    all = own[name] ? own[name] : 1
    return known[name] = most + int((all + 31) / 32) * 32
}
function deepest(name,    list, n, i, most, chain) {
    if (name in chains)
        return chains[name]
    n = split(calls[name], list, " ")
    for (i = 1; i <= n; i++) {
        chain = list[i] in own ? deepest(list[i]) : ""
        most = split(chain, none, " ") > split(most, none, " ") ? chain : most
    }
    return chains[name] = name (most == "" ? "" : " " most)
}
/^Disassembly of section/ { section = $4 }
/^[0-9a-f]+ <[^>]*>:$/ {
    if ($2 ~ /^<LBB/)
        next
    f = substr($2, 2, length($2) - 3)
    own[f] += 0
    if (section !~ /^\.text/)
        programs[f]
}
match($0, /\(r10 - (0x)?[0-9a-f]+\)/) { note(number(substr($0, RSTART + 7, RLENGTH - 8))) }
match($0, /r[0-9] \+= -(0x)?[0-9a-f]+$/) { note(number(substr($0, RSTART + 7, RLENGTH - 7))) }
/R_BPF_64_32/ { calls[f] = calls[f] " " $NF }
END {
    for (p in programs)
        if (worst(p) > 512) {
            printf "%s:1: %s and what it calls take %d bytes of stack\n", file, p, worst(p)
            bad = 1
        }
    for (p in programs)
        if (split(deepest(p), none, " ") > 8) {
            printf "%s:1: calls are nested too deep: %s\n", file, deepest(p)
            bad = 1
        }
    exit bad
}
