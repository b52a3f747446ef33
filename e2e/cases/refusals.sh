#!/bin/bash
# What cannot work is said at once, in one line that names what is missing.
# beside others
set -euo pipefail
. e2e/lib.sh
need_root

need setpriv unshare python3
quickly() { # STATUS LINE COMMAND...
    local start=$SECONDS
    expect_exit "$@"
    [ $((SECONDS - start)) -le 3 ] || fail "it took $((SECONDS - start)) s to say so"
}

# Not root: a copy, because the way to the binary may be closed to others.
open=$(mktemp -d)
at_exit "rm -rf '$open'"
chmod 777 "$open"
cp "$XPROF" "$open/xprof"
nobody=(setpriv --reuid 65534 --regid 65534 --clear-groups env HOME="$open")
quickly 1 '(root|CAP_[A-Z]+)' "${nobody[@]}" "$open/xprof" record -a -d 60s -o "$open/x.collapsed"
quickly 1 '(root|CAP_[A-Z]+)' "${nobody[@]}" "$open/xprof" record -o "$open/x.collapsed" -- sleep 60
[ ! -e "$open/x.collapsed" ] || fail "a profile of nothing was written"
rc=0
"${nobody[@]}" "$open/xprof" check >"$TMP/out" || rc=$?
[ $rc = 1 ] || fail "xprof check: exit $rc"
for line in 'other processes' 'any file' 'mapped files' 'kernel symbols' 'eBPF programs'; do
    grep -q "^NO   $line" "$TMP/out" || fail "xprof check has nothing against: $line"
done

# All that stands between the agent and the kernel is told apart: `xprof check` and a recording name it.
cat >"$TMP/filtered.py" <<'EOF'
import ctypes, os, struct, sys
def filtered(number): # a seccomp filter: EPERM for one call, as profiles of container runtimes have it
    code = [(0x20, 0, 0, 0), (0x15, 0, 1, number), (0x06, 0, 0, 0x50000 | 1), (0x06, 0, 0, 0x7fff0000)]
    text = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *c) for c in code))
    program = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(code), ctypes.addressof(text)))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, program):
        sys.exit("no filter: " + os.strerror(ctypes.get_errno()))
filtered(int(sys.argv[1]))
os.execv(sys.argv[2], sys.argv[2:])
EOF
refused() { # LINE REASON COMMAND...
    local line=$1 reason=$2
    shift 2
    ! "$@" check >"$TMP/out" || fail "nothing is refused: $*"
    grep -qE "^NO   $line .*$reason" "$TMP/out" || { cat "$TMP/out" && fail "not '$line ... $reason': $*"; }
}
without() { # CAPABILITY,...
    echo "-sys_admin,-${1//,/,-}"
}
bpf=321 perf=298 # numbers of system calls
refused 'eBPF programs' 'refused: CAP_BPF is missing' setpriv --bounding-set "$(without bpf)" "$XPROF"
refused 'eBPF programs' 'refused: CAP_PERFMON is missing' setpriv --bounding-set "$(without perfmon)" "$XPROF"
refused 'eBPF programs' 'refused: CAP_BPF and CAP_PERFMON are missing' setpriv --bounding-set "$(without bpf,perfmon)" "$XPROF"
refused 'other processes' 'CAP_SYS_PTRACE is missing' setpriv --bounding-set "$(without sys_ptrace)" "$XPROF"
refused 'eBPF programs' 'user namespace' unshare --user --map-root-user "$XPROF"
refused 'other processes' 'user namespace' unshare --user --map-root-user "$XPROF"
refused 'eBPF programs' 'a seccomp filter refuses bpf\(2\)' python3 "$TMP/filtered.py" $bpf "$XPROF"
refused 'cpu-clock' 'a seccomp filter refuses perf_event_open\(2\)' python3 "$TMP/filtered.py" $perf "$XPROF"
grep -q '^--   confinement .*seccomp filter against perf_event_open' "$TMP/out" || fail "the filter is not named"
quickly 1 'loading eBPF programs was refused: a seccomp filter' python3 "$TMP/filtered.py" $bpf "$XPROF" record -a -d 60s
quickly 1 'perf events were refused: a seccomp filter' python3 "$TMP/filtered.py" $perf "$XPROF" record -a -d 60s
quickly 1 'loading eBPF programs was refused: a seccomp filter' python3 "$TMP/filtered.py" $bpf "$XPROF" stack $$

# Outputs that cannot be written are found before, not after the recording.
mkdir "$TMP/folder.svg"
quickly 1 'folder.svg: cannot be written: Is a directory' "$XPROF" record -a -d 60s -o "$TMP/folder.svg"
quickly 1 '/nowhere/x.svg: cannot be written: No such file' "$XPROF" record -a -d 60s -o /nowhere/x.svg
quickly 1 '/nowhere/x.svg: cannot be written' "$XPROF" record -a -d 60s -o "$TMP/x.collapsed" -o /nowhere/x.svg
[ ! -e "$TMP/x.collapsed" ] || fail "an output was written before the other one was looked at"
quickly 1 'summary.* cannot be written' "$XPROF" record -a -d 60s --summary /nowhere/s.json -o "$TMP/x.collapsed"
# shellcheck disable=SC2016
quickly 1 'x.svg: cannot be written: Read-only file system' unshare -m --propagation private sh -c \
    'mount -t tmpfs -o ro none "$1" && "$0" record -a -d 60s -o "$1/x.svg"' "$XPROF" "$TMP/folder.svg"
