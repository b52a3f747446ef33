#!/bin/bash
# beside others
# Every command of README.md and docs/ does what it says: those of xprof are run, with a program, a cgroup and a server of
# this test in the places of the examples; the others are run by make and by the chart's tests, and are listed here.
set -euo pipefail
. e2e/lib.sh
need_root

build_target tree
"$TMP/tree" 60 >/dev/null 2>&1 &
pid=$!
at_exit "kill $pid"
cgroup=$(awk -F: '$1 == 0 { print $3 }' /proc/$pid/cgroup)
mount=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
mkdir "$TMP/run"
printf 'interval: 5s\n' >"$TMP/run/xprof.yaml"

# Lines of the sh blocks, continued lines joined, comments taken off.
commands() {
    awk '/^```sh$/ { sh = 1; next } /^```/ { sh = 0 } sh' "$@" | sed -e ':a;/\\$/{N;s/\\\n//;ba}' \
        -e 's/[[:space:]]\+#.*//' | grep -v '^[[:space:]]*$'
}

# The example's process, cgroup, times and files become those of this test; what has no end gets one.
adapted() { # COMMAND
    local end="-d 1s "
    [[ $1 != *" -- "* ]] || end=
    sed -E -e "s#^(sudo )?build/xprof#$XPROF#" -e "s/4711/$pid/" -e 's/-d [0-9]+[ms] ?//' -e 's/make -j4/sleep 1/' \
        -e 's/--leaks/& --older-than 100ms/' -e "s#/sys/fs/cgroup/system.slice/nginx.service#$mount$cgroup#" -e "s#^($XPROF record )#\1$end#" <<<"$1"
}

run_xprof() { # COMMAND
    local rc=0
    case $1 in
    *"xprof agent"*)
        (cd "$TMP/run" && timeout --signal=TERM 4 bash -c "exec $1 --state-dir $TMP/state --cache-dir $TMP/cache --listen off --exclusive=off --cri-socket none") \
            >"$TMP/out" 2>&1 || rc=$?
        [ $rc = 124 ] || [ $rc = 0 ] || fail "exit $rc: $1: $(tail -n 3 "$TMP/out")"
        ;;
    *"xprof check"*) (cd "$TMP/run" && bash -c "$1") >"$TMP/out" 2>&1 || [ $? = 1 ] ;;
    *) (cd "$TMP/run" && timeout 60 bash -c "$1") >"$TMP/out" 2>&1 || fail "exit $?: $1: $(tail -n 3 "$TMP/out")" ;;
    esac
}

# That is what FILE runs.
elsewhere() { # FILE REGEX
    grep -qE "$2" "$1" || fail "$1 no longer runs: $command"
}

n=0
while IFS= read -r command; do
    case $command in
    "make run" | "make test") grep -q "^${command#make }:" Makefile || fail "there is no $command" ;;
    "make all && XPROF=build/xprof tools/bench.sh bench/"*) [ -f "${command##* }" ] || fail "there is no ${command##* }" ;;
    "buildah bud"*) elsewhere e2e/install/image.sh 'bud |Dockerfile' ;;
    "helm install"*) elsewhere e2e/install/lib.sh 'helm install xprof' ;;
    "helm test"*) elsewhere e2e/install/test.sh 'helm test|helm_test' ;;
    "kubectl annotate"*) elsewhere e2e/install/test.sh annot ;;
    *build/xprof*)
        run_xprof "$(adapted "$command")"
        ;;
    *) fail "nobody runs: $command" ;;
    esac
    n=$((n + 1))
done < <(commands README.md docs/*.md)
[ $n -ge 17 ] || fail "only $n commands were found"
for made in machine.html server.pb.gz build.html build.pb.gz raw.pb.gz named.html; do
    [ -s "$TMP/run/$made" ] || fail "$made was not written"
done
echo "$n commands"
