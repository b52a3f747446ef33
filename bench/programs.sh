# shellcheck shell=bash disable=SC2154,SC2016
# Real programs for benchmarks, one process each, running for 10 s and more. Sourced; needs $tmp.
#   programs: the names that this machine can run;   program NAME: its command, in the array $command

programs_prepare() {
    g++ -std=c++17 -E bench/targets/templates.cpp -o "$tmp/gcc.ii"
    ! command -v clang++ >/dev/null || clang++ -std=c++17 -E bench/targets/templates.cpp -o "$tmp/clang.ii"
    head -c 60000000 "$(readlink -f /usr/lib/llvm-14/lib/libLLVM-14.so.1 || echo /proc/self/exe)" >"$tmp/data" 2>/dev/null ||
        head -c 60000000 /dev/urandom >"$tmp/data"
}


program() {
    case $1 in
    clang) command=(clang -cc1 -O3 -emit-obj -o /dev/null -x c++-cpp-output -fcxx-exceptions -fexceptions -std=c++17 "$tmp/clang.ii") ;;
    cc1plus) command=("$(g++ -print-prog-name=cc1plus)" -quiet -O3 -std=c++17 -fpreprocessed "$tmp/gcc.ii" -o /dev/null) ;;
    python3) command=(/usr/bin/python3 -c 'import json
while True: json.loads(json.dumps({str(k): [k, str(k)] * 5 for k in range(200)}))') ;;
    node) command=(node -e 'for (;;) { let o = []; for (let i = 0; i < 3e4; i++) o.push(JSON.parse(JSON.stringify({ i, a: [i, "x" + i] }))); o.sort((a, b) => b.i - a.i) }') ;;
    perl) command=(perl -e 'while (1) { my %x; $x{$_ % 1000} .= join(",", $_) for 1 .. 100000; my @k = sort { $x{$a} cmp $x{$b} } keys %x }') ;;
    openssl) command=(openssl speed -seconds 2 -evp aes-256-cbc-hmac-sha256) ;;
    xz) command=(xz -9 -k -c "$tmp/data") ;;
    esac
}

programs() {
    for name in clang cc1plus python3 node perl openssl xz; do
        program "$name"
        command -v "${command[0]}" >/dev/null && echo "$name"
    done
}
