#!/bin/bash
# Runs a command as a container does that must not write anything: as another user, below a root that is read-only, with
# FILEs in its working folder, which only the command sees. To be run in a mount namespace of its own.
#   inside.sh FILE... -- COMMAND...
set -euo pipefail
mount -t tmpfs tmpfs /mnt
while [ "$1" != -- ]; do
    cp "$1" /mnt
    shift
done
mount -o remount,bind,ro /mnt
mount -o remount,bind,ro /
cd /mnt
if touch /written 2>/dev/null; then exit 1; fi
exec setpriv --reuid 65534 --regid 65534 --clear-groups --no-new-privs "${@:2}"
