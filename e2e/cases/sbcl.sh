#!/bin/bash
# Lisp code keeps frame pointers, and lies in files that are no ELF files: a core beside the runtime, or behind the
# runtime in the same file. The way back through the runtime's assembly is known, so chains reach the start of the program.
# beside others
set -euo pipefail
. e2e/lib.sh
need_root
need jq
need sbcl python3

# What runs says where its code lies. Results are used, so that no call is the last thing that a function does.
cat >"$TMP/work.lisp" <<'LISP'
(declaim (notinline leaf inner outer))
(defun leaf (n) (let ((s 0)) (declare (fixnum s n)) (dotimes (i n) (setf s (logand (+ (* s 31) i) 65535))) s))
(defun inner (n) (let ((s 0)) (dotimes (i 50) (incf s (leaf n))) s))
(defun outer (n) (1+ (inner n)))
(defun tell (name function)
  (let ((code (sb-kernel:fun-code-header function)))
    (format t "~a ~d ~d~%" name (sb-sys:sap-int (sb-kernel:code-instructions code))
            (sb-kernel:%code-text-size code))))
(defun start ()
  (tell "leaf" #'leaf)
  (tell "inner" #'inner)
  (tell "outer" #'outer)
  (finish-output)
  (loop (outer 20000)))
LISP
(cd "$TMP" && sbcl --noinform --non-interactive --eval '(compile-file "work.lisp")' >/dev/null 2>&1)
load=(--noinform --non-interactive --load "$TMP/work.fasl")
sbcl "${load[@]}" --eval "(save-lisp-and-die \"$TMP/lisp.core\" :toplevel #'start)" >/dev/null 2>&1
sbcl "${load[@]}" --eval "(save-lisp-and-die \"$TMP/lisp\" :executable t :toplevel #'start)" >/dev/null 2>&1

# Frames without a name are [FILE+OFFSET] or [ADDRESS] in the profile; here they get the names of what runs.
cat >"$TMP/name.py" <<'PY'
import re, sys
functions = [l.split() for l in open(sys.argv[1])]
maps = []
for l in open(f'/proc/{sys.argv[2]}/maps'):
    f = l.split()
    start, end = (int(x, 16) for x in f[0].split('-'))
    if len(f) > 5:
        maps.append((f[5].rsplit('/', 1)[-1], start, end, int(f[2], 16)))
def name(m):
    at = int(m[3], 16)
    if m[2]:
        at = next((s + at - o for f, s, e, o in maps if f == m[2] and o <= at < o + e - s), 0)
    return next((n for n, start, size in functions if int(start) <= at <= int(start) + int(size)), m[0])
for l in sys.stdin:
    print(re.sub(r'\[(([^][;]+)\+)?0x([0-9a-f]+)\]', name, l), end='')
PY
name_frames() { # PID
    python3 "$TMP/name.py" "$TMP/functions" "$1" <"$profile" >"$TMP/named"
    mv "$TMP/named" "$profile"
}

check() { # COMMAND...
    "$@" >"$TMP/functions" 2>/dev/null &
    running=$!
    at_exit "kill -KILL $running"
    await grep -q outer "$TMP/functions"
    HZ=499 record -p $running -d 2s
    name_frames $running
    expect_samples 200
    expect_complete 99
    expect_share 95 '_start;(.*;)?main;initialize_lisp;call_into_lisp_;(.*;)?outer;inner;leaf' leaf
    expect_share 99 '_start;(.*;)?outer'
    kill -KILL $running
}
check sbcl --noinform --core "$TMP/lisp.core"
check "$TMP/lisp"
