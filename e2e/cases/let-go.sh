#!/bin/bash
# A program of 500 MB runs for ten seconds and is deleted, and so are 60 small ones, and the image of a container with its
# debug files. A minute later the disk has its space again, no process of the agent holds a file of it, and the profiles
# have names.
# beside others
set -euo pipefail
. e2e/lib.sh
need_root
need go objcopy strip unshare
. e2e/agent/lib.sh

disk=$TMP/disk
mkdir "$disk"
mount -t tmpfs -o size=900M xprof-e2e "$disk"
at_exit "umount -l $disk"

used() { # KB
    df --output=used -k "$disk" | tail -n 1
}
empty=$(used)

is_free() {
    [ "$(used)" -le $((empty + 64)) ]
}

held() { # files of the disk, by the agent and its helpers
    local pids
    pids=$(pgrep -P "$agent_pid" -d ' ' || true)
    # shellcheck disable=SC2046,SC2086
    find $(printf '/proc/%s/fd ' "$agent_pid" $pids) \( -lname "*$disk*" -o -lname '/bin/layout*' \) -printf '%p %l\n' 2>/dev/null || true
}

OUT=layout build_target layout -g -static
mkdir -p "$disk/image/bin" "$disk/image/usr/lib/debug/bin" "$disk/upper" "$disk/work" "$disk/root"
objcopy --only-keep-debug "$TMP/layout" "$disk/image/usr/lib/debug/bin/layout.debug"
strip -o "$disk/image/bin/layout" "$TMP/layout"
(cd "$disk/image/usr/lib/debug/bin" && objcopy --add-gnu-debuglink=layout.debug "$disk/image/bin/layout")
head -c 100M /dev/zero >>"$disk/image/bin/layout"
cp "$TMP/layout" "$disk/program"
head -c 500M /dev/zero >>"$disk/program"
# Of other containers of the machine it would hold files, too, and they may come at any time.
first_id=$(sha256sum <<<"first $TMP" | cut -c 1-64) second_id=$(sha256sum <<<"second $TMP" | cut -c 1-64)
cat >"$TMP/config.yaml" <<END
targets-only: on
targets:
  - container-id: $first_id
  - container-id: $second_id
END
INTERVAL=10s start_agent --host-processes off --config "$TMP/config.yaml"
descriptors=$(find "/proc/$agent_pid/fd" -type l | wc -l)
make_container "$first_id"
(contained "$disk/program" 10000) &
first=$!
make_container "$second_id"
# shellcheck disable=SC2016
(contained unshare -m sh -c 'cd "$0" && mount -t overlay -o lowerdir=image,upperdir=upper,workdir=work xprof-e2e root &&
    exec chroot root /bin/layout 10000' "$disk") &
second=$!
began=$SECONDS
for i in {1..60}; do # new programs
    cp "$TMP/layout" "$disk/new$i"
    (contained "$disk/new$i" 30)
    rm "$disk/new$i"
done
[ $((SECONDS - began)) -ge 8 ] || sleep $((8 - SECONDS + began))
[ -n "$(held)" ] || fail "nothing of the disk was held: this proves nothing"
wait $first $second
rm -r "${disk:?}"/*
began=$SECONDS
while ! is_free; do
    sleep 0.5
    [ $((SECONDS - began)) -lt 60 ] || fail "$(used) KB are still in use; $(held)"
done
echo "the disk is free after $((SECONDS - began)) s"
[ -z "$(held)" ] || fail "still held: $(held)"
[ "$(metric xprof_files_pinned_bytes)" = 0 ] || fail "the agent says that it pins $(metric xprof_files_pinned_bytes) bytes"
now=$(find "/proc/$agent_pid/fd" -type l | wc -l)
echo "$now descriptors, $descriptors before"
[ "$now" -le $((descriptors + 15)) ] || fail "there are many more descriptors than before"
end_agent # the last profiles go out
for name in main outer middle inner; do
    for container in "${first_id:0:12}" "${second_id:0:12}"; do
        part=$(percent_with "host/$container" $name)
        echo "$part % of the samples of $container have $name"
        [ "$part" -ge 90 ] || fail "the profile has lost its names"
    done
done
