#!/bin/bash
# Whose sample, against a real containerd: a container that lives for a moment, a pod that comes back under its name, one
# container of two, annotations that make no sense, PIDs that come back. No sample of who opted out leaves the kernel.
# beside others
set -euo pipefail
. e2e/lib.sh
need_root
. e2e/agent/lib.sh
. e2e/faults/lib.sh
. e2e/faults/sum.sh

start_containerd
start_agent --kube cri --cri-socket "$socket" --rate 499
asks=xprof.io/profile=true

# A pod whose sandbox is replaced: the old one is forgotten a minute later, which must not concern the new one.
run_pod lasting 1 "$forever" $asks
cri rm "$POD"
run_pod lasting 1 "$forever" $asks
replaced=$SECONDS
await has_profiles prod/lasting/main
cri stop "$CID"

# Lives that are short, ended by themselves or killed right after their start.
lives=5
for ((i = 0; i < lives; i++)); do
    run_sandbox "short-$i" $((10 + i)) $asks
    run_container "$POD" "short-$i" $((10 + i)) main "$(script_of 60000)"
    run_sandbox "killed-$i" $((30 + i)) $asks
    run_container "$POD" "killed-$i" $((30 + i)) main "$forever"
    cri stop "$CID"
done
for ((i = 0; i < lives; i++)); do
    await has_profiles "prod/short-$i/main"
    await has_profiles "prod/killed-$i/main"
done
expect_sum
echo "$lives short lives: $(for ((i = 0; i < lives; i++)); do samples_in "prod/short-$i/main"; done | xargs) samples;" \
    "$(metric xprof_profile_samples_total unwanted) of pause containers"
[ "$(metric xprof_profile_samples_unnamed_total)" = 0 ] || fail "samples without a name"

# It opted out: however busy it is, nothing of it leaves the kernel.
before=$(metric xprof_samples_total)
run_pod silent 50 "$forever"
silent=$POD
run_pod denied 51 "$forever" xprof.io/profile=false
unwanted_for 500
[ "$(metric xprof_samples_total)" = "$before" ] || fail "samples of pods that opted out leave the kernel"
cri rm "$silent" && cri rm "$POD"

# The same name again, and again: each under its own uid, with its own answer.
run_pod again 52 "$forever" $asks
await has_profiles prod/again/main
cri rm "$POD"
expect_sum
have=$(samples_in prod/again) before=$(metric xprof_samples_total)
run_pod again 53 "$forever" # does not ask
unwanted_for 500
[ "$(metric xprof_samples_total)" = "$before" ] || fail "it inherits the answer of another pod of its name"
cri rm "$POD"
run_pod again 54 "$forever" $asks
more_than() {
    [ "$(samples_in prod/again)" -gt "$1" ]
}
await more_than "$have"
cri rm "$POD"

# One container of two.
run_pod two 55 "$forever" $asks xprof.io/containers=db
expect_sum
before=$(metric xprof_samples_total)
unwanted_for 300
[ "$(metric xprof_samples_total)" = "$before" ] || fail "the container that the annotation does not name is sampled"
run_container "$POD" two 55 db "$forever"
await has_profiles prod/two/db
! has_profiles prod/two/main || fail "the container that the annotation does not name has profiles"
cri rm "$POD"

# Annotations that make no sense: a warning each, and no guess.
expect_sum
head -c 256000 /dev/zero | tr '\0' x >"$TMP/long"
printf 'cpu\001\033[2J\n' >"$TMP/control"
before=$(metric xprof_samples_total) n=60 odd=()
for value in @"$TMP/long" @"$TMP/control" cup "cpu;offcpu" True ""; do
    warned=$(metric xprof_annotation_warnings_total)
    run_pod "odd-$n" $n "$forever" xprof.io/profile="$value"
    odd+=("$POD")
    warns() {
        [ "$(metric xprof_annotation_warnings_total)" -gt "$warned" ]
    }
    await warns
    [ "$(metric xprof_annotation_warnings_total)" = $((warned + 1)) ] || fail "more than one warning: $value"
    [ "$(grep -c "pod prod/odd-$n: " "$errors")" = 1 ] || fail "not one line in the log: $value"
    n=$((n + 1))
done
unwanted_for 500
[ "$(metric xprof_samples_total)" = "$before" ] || fail "a bad annotation is taken for a yes"
for pod in "${odd[@]}"; do cri rm "$pod"; done
LC_ALL=C grep -q '[[:cntrl:]]' "$errors" && fail "control characters in the log"
[ "$(wc -L <"$errors")" -lt 400 ] || fail "a long annotation is in the log"

# A PID that comes back within the interval belongs to who has it at the moment of the sample.
OUT=alpha build_target layout -DPREFIX=alpha_
OUT=beta build_target layout -DPREFIX=beta_
group_of() { # POD: the cgroup of its container, not of its sandbox
    curl -sf "$page/targets" | jq -er --arg p "$1" \
        '.[] | select(.kind == "container" and .labels.pod == $p and .labels.container == "main") | .path'
}
run_pod left 70 'sleep 1000' $asks
run_pod right 71 'sleep 1000' $asks
await group_of left
await group_of right
left=$(group_of left) right=$(group_of right)
run_in() { # CGROUP PROGRAM: in the hierarchy that the agent looks at, whichever it is
    (
        for tree in /sys/fs/cgroup/*; do [ ! -e "$tree$1" ] || echo "$BASHPID" >"$tree$1/cgroup.procs"; done
        exec "$2" 60
    ) &
}
reused=0
for ((try = 0; try < 40 && reused < 5; try++)); do
    run_in "$left" "$TMP/alpha"
    old=$!
    wait "$old"
    echo $((old - 1)) 2>/dev/null >/proc/sys/kernel/ns_last_pid || fail "the next PID cannot be chosen here"
    run_in "$right" "$TMP/beta"
    reused=$((reused + ($! == old)))
    wait $!
done
[ "$reused" -gt 0 ] || fail "no PID came back: this proves nothing"
echo "$reused PIDs came back"
await has_function prod/left/main alpha_inner
await has_function prod/right/main beta_inner
expect_sum
! has_function prod/left/main beta_inner || fail "the PID's next owner is in the profile of its last one"
! has_function prod/right/main alpha_inner || fail "the PID's last owner is in the profile of its next one"

# A process that is elsewhere by now says nothing about the group that its sample came from.
. e2e/cri/lib.sh
registry --host-root "$ctd/host"
right=/sys/fs/cgroup/unified$right
pid=$(head -n 1 "$right/cgroup.procs") id=$(stat -c %i "$right")
expect_says ps "^container cgroup=$id .*name=main pod=right "
other=/sys/fs/cgroup/unified/xprof-fault-$$
mkdir "$other"
at_exit "rmdir $other"
ask "learn $(stat -c %i "$other") $pid" >/dev/null
expect_says ps "^container cgroup=$id .*state=known .*name=main pod=right "
says ps "^container cgroup=$(stat -c %i "$other") " && fail "a cgroup got the name of another one"
registry_ends

# By now the first sandbox of "lasting" is forgotten.
while [ $((SECONDS - replaced)) -lt 66 ]; do sleep 1; done
expect_sum
wants_pod "$(uid_of 1)" >/dev/null || fail "a pod whose sandbox was replaced is forgotten"
end_agent
