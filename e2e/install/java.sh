# shellcheck shell=bash disable=SC2154
# A pod with Java: its frames are in Pyroscope soon, and nothing was done to it for that. To be sourced after lib.sh.

. e2e/java/lib.sh

# A virtual machine of this machine, with the libraries that it needs, and a program.
java_image() {
    local java home class files=()
    for_each_java 17 25
    java=$(realpath "${javas[0]}")
    home=${java%/bin/java}
    build_java Chains
    mapfile -t files < <(find "$home/bin/java" "$home/lib" "$home/conf" \( -type f -o -type l \) -not -name src.zip -not -name ct.sym |
        while read -r f; do [ ! -f "$f" ] || echo "${f#/}=$(realpath "$f")"; done)
    mapfile -t -O ${#files[@]} files < <(ldd "$java" "$home"/lib/lib{net,nio,java,zip,jimage}.so "$home/lib/server/libjvm.so" |
        grep -o '/[^ ]*[^ :]' | grep -v ':$' | grep -vF "$home" | sort -u | while read -r f; do echo "${f#/}=$(realpath "$f")"; done)
    for class in "$TMP"/Chains*.class; do files+=("app/${class##*/}=$class"); done
    e2e/kube/image.py "$images/java.tar" registry.local/java:1 \
        "[\"$home/bin/java\", \"-cp\", \"/app\", \"Chains\", \"600000\", \"c03\"]" "${files[@]}"
}

tids_of() { # PID...
    local pid
    for pid; do ls "/proc/$pid/task" 2>/dev/null || true; done # it may have ended
}

processes_of_agent() {
    local uid
    uid=$(kubectl -n xprof get pod -l app.kubernetes.io/name=xprof -o jsonpath='{.items[0].metadata.uid}')
    grep -lE "pod(${uid}|${uid//-/_})" /proc/[0-9]*/cgroup 2>/dev/null | grep -o '[0-9]*'
}

# Has the kernel write down what the agent's processes, and those that they start, do that touches others.
watch_agent() {
    local tracing=$TMP/tracing event
    mkdir "$tracing"
    mount -t tracefs none "$tracing"
    instance=$tracing/instances/xprof-e2e-$$
    mkdir "$instance"
    at_exit "rmdir $instance; umount $tracing"
    # shellcheck disable=SC2046
    tids_of $(processes_of_agent) >"$instance/set_event_pid"
    echo 1 >"$instance/options/event-fork"
    for event in signal/signal_generate syscalls/sys_enter_ptrace syscalls/sys_enter_process_vm_writev; do
        echo 1 >"$instance/events/$event/enable"
    done
}

# The agent traced nobody, wrote to nobody's memory, sent the process no signal, and nothing was written to its root.
expect_untouched() { # PID
    local upper
    cp "$instance/trace" "$TMP/trace"
    grep -q signal_generate "$TMP/trace" || fail "the agent did not even end a child of its own: this proves nothing"
    if grep -E 'sys_ptrace|sys_process_vm_writev' "$TMP/trace"; then fail "the agent touches other processes"; fi
    tids_of "$1" | sed 's/.*/ pid=& /' >"$TMP/tids"
    if grep signal_generate "$TMP/trace" | grep -F -f "$TMP/tids"; then fail "the agent signals the virtual machine"; fi
    upper=$(sed -nE 's/^.* \/ \/ .* - overlay .*upperdir=([^,]*).*/\1/p' "/proc/$1/mountinfo")
    inside test -d "$upper" || fail "the container has no layer of its own: $(head -n 1 "/proc/$1/mountinfo")"
    if inside find "$upper" -type f | grep -vE '/etc/(hosts|hostname|resolv.conf)$'; then
        fail "something was written into the container"
    fi
    echo "Java: $(grep -c signal_generate "$TMP/trace") signals of the agent, none to the virtual machine; nothing written"
}

# Within a minute of its start.
check_java() {
    local java began=$SECONDS
    watch_agent
    kubectl apply -f "$PWD/e2e/install/workloads/java.yaml"
    await_for 60 has_profile '{service_name="jvm"}' Chains.in5
    echo "Java: its frames are there after $((SECONDS - began)) s"
    expect_percent 100 Chains.in5 Chains.c03 '{service_name="jvm"}'
    java=$(pgrep -x -u 1234 java) || fail "it does not run as the user that it should be"
    expect_untouched "$java"
    echo 0 >"$instance/tracing_on"
    kubectl -n shop delete pod jvm
}
