#!/bin/bash
# Compilers of scripts that leave neither unwind information nor frame pointers: what they generate runs in one frame on the
# stack of the C function that called it, and stacks are whole from there on.
# beside others
set -euo pipefail
. e2e/lib.sh
need_root
need luajit guile

cat >"$TMP/x.lua" <<'END'
local function leaf(n) local s = 0 for i = 1, n do s = s + (i * i) % 7 end return s end
local t = os.clock()
while os.clock() - t < 3 do leaf(10000) end
END
cat >"$TMP/x.scm" <<'END'
(define (fib n) (if (< n 2) n (+ (fib (- n 1)) (fib (- n 2)))))
(define end (+ (get-internal-real-time) (* 3 internal-time-units-per-second)))
(let loop () (fib 20) (if (< (get-internal-real-time) end) (loop)))
END

whole() { # NAME FRAMES PROGRAM...
    record -F 199 -o "$TMP/x.collapsed" -- "${@:3}"
    expect '.complete >= 0.99 * .user_samples' == true
    awk -v frames="$2" -v name="$1" '/\[anonymous\]/ { all += $NF } /\[anonymous\]/ && $0 ~ frames { right += $NF }
        END { printf "%s: %.1f %% of the stacks in generated code lead to what called it\n", name, 100 * right / all
              exit !(all && right >= 0.99 * all) }' "$TMP/x.collapsed" || fail "$1: callers are missing"
}

export GUILE_AUTO_COMPILE=0
whole luajit ';_start;.*;main;.*;lua_pcall;\[anonymous\]' luajit "$TMP/x.lua"
whole guile ';__libc_start_main;.*;scm_boot_guile;.*;scm_call_n;.*\[anonymous\]' guile "$TMP/x.scm"
