#!/bin/bash
# A real program: the Python interpreter, with the frames of its script in place of its loop.
# beside others
set -euo pipefail
. e2e/lib.sh
need_root

python=/usr/bin/python3 # not a shim
need $python
CACHE=$TMP/cache
record -- $python -c 'import json, re' 2>/dev/null # so that unwind tables are there
record -- $python -c '
import json, re
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)
data = [{"id": i, "text": "x" * (i % 50), "list": list(range(i % 20))} for i in range(2000)]
for i in range(200):
    fib(21)
    json.loads(json.dumps(data))
    re.findall(r"(x+)y?", "xxxxzxxx" * 20000)
    sorted(data, key=lambda d: d["text"])
'
expect_samples 150
expect_complete 99
expect_share 90 '(_start|main|Py_BytesMain);(.*;)?<module>' '(<module>|_PyEval_EvalFrameDefault);?.*'
expect_stack '<module>;fib;fib;fib' "$profile" 20
