#!/bin/bash
# xprof stack: the Java frames of threads that wait are those of jstack, with their lines, in every mode of the virtual
# machine, and without stopping it.
# beside others
set -euo pipefail
. e2e/lib.sh
. e2e/java/lib.sh
need_root
need python3 jcmd

RELEASE=8 build_java Parked

# What inspect says of the virtual machine: its collector, and as many methods as jcmd says, give or take those that are
# compiled meanwhile.
about() { # JAVA PID [FLAG...]
    local gc=G1
    [[ ! "$*" =~ Use(ZGC|Serial|ConcMarkSweep) ]] || gc=${BASH_REMATCH[1]/ConcMarkSweep/CMS}
    "$XPROF" inspect --no-cache --json "$2" >"$TMP/inspect" 2>"$errors" || fail "xprof inspect failed"
    if [ "$(version_of "$1")" = 8 ]; then # knows no such command, and has another number of its own
        jq -e --arg gc "$gc" '.runtime | .collector == $gc and (.machine | startswith("HotSpot 25."))' "$TMP/inspect" ||
            fail "inspect says: $(cat "$TMP/inspect")"
        return
    fi
    jcmd "$2" Compiler.codecache >"$TMP/codecache" || fail "jcmd failed"
    python3 - "$TMP/inspect" "$TMP/codecache" "$(version_of "$1")" "$gc" <<'END' || fail "inspect says: $(cat "$TMP/inspect")"
import json, re, sys
about = json.load(open(sys.argv[1]))["runtime"]
known = int(re.search(r"nmethods=(\d+)", open(sys.argv[2]).read())[1])
methods = sum(int(n) for n in re.findall(r"(\d+) (?:compiled|by|native)", about["methods"]))
print(about["machine"], about["collector"], f"{methods} methods ({known})", sep=", ")
sys.exit(not about["machine"].startswith("HotSpot " + sys.argv[3]) or about["collector"] != sys.argv[4] or
         abs(methods - known) > known / 10 + 10)
END
}

compare() { # JAVA [FLAG...]
    local java=$1 pid
    shift
    : >"$TMP/out" # what an earlier one said is gone before this one begins
    "$java" "$@" -cp "$TMP" Parked 1200 >"$TMP/out" 2>&1 &
    pid=$!
    at_exit "kill -KILL $pid"
    await grep -q ready "$TMP/out"
    "$XPROF" stack --no-cache --json $pid >"$TMP/json" 2>"$errors" || fail "xprof stack failed"
    if [ "$(version_of "$java")" = 8 ]; then # jstack would look for it in another /tmp; it prints the same
        kill -QUIT $pid
        await grep -q '^JNI global references' "$TMP/out"
        cp "$TMP/out" "$TMP/jstack"
    else
        "$(jstack_of "$java")" $pid >"$TMP/jstack" || fail "jstack failed"
    fi
    about "$java" $pid "$@"
    { kill -KILL $pid && wait $pid; } 2>/dev/null || true
    echo -n "$(version_of "$java") $*: "
    python3 e2e/java/jstack.py "$TMP/json" "$TMP/jstack" main park wait sleep accept hold contend enter join take deep loop \
        lambda reflect || fail "jstack has other frames"
}

for_each_java 17 25
for java in "${javas[@]}"; do
    compare "$java"
    compare "$java" -Xint
    compare "$java" -XX:+UseZGC
    compare "$java" -XX:TieredStopAtLevel=1 -XX:+UseSerialGC
done

javas=()
add_debian_javas 8
for java in "${javas[@]}"; do
    compare "$java" -XX:+UseConcMarkSweepGC
    compare "$java" -XX:+UseSerialGC -Xint
done
