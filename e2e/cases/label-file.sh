#!/bin/bash
# Bytes are told apart by file on request: by paths as the process sees them, in another root directory and through
# mounts as well, and by what memory, pipes and files without a path are called. More files than there is room for
# are one.
# beside others
set -euo pipefail
. e2e/lib.sh
need_root
need go unshare
. e2e/pprof.sh

expect_file() { # READ WRITTEN FILE
    grep -Fxq "$1 $2 $3" "$TMP/files" || { grep -F "$3" "$TMP/files" || true; fail "not $1 bytes read and $2 written of $3"; }
}

cat >"$TMP/program.py" <<'END'
import os, sys
top = sys.argv[1]
def write(path, n, flags=os.O_CREAT | os.O_RDWR):
    fd = os.open(path, flags, 0o600)
    os.write(fd, b"x" * n)
    return fd
os.makedirs(top + "/deep/er")
fd = write(top + "/deep/er/one", 1000)
os.pread(fd, 300, 0)
os.rename(top + "/deep/er/one", top + "/deep/two")
os.write(fd, b"y" * 70)
os.unlink(top + "/deep/two")
os.write(fd, b"z" * 5)
long = top + "/" + "/".join("d" * 60 + str(i) for i in range(4))
os.makedirs(long)
write(long + "/end", 11)
write("/dev/null", 4096, os.O_WRONLY)
os.write(os.memfd_create("mine"), b"m" * 222)
r, w = os.pipe()
os.write(w, b"p" * 33)
os.read(r, 33)
os.chdir(top)
write("relative", 44)
END

python3=$(python3 -c "import sys; print(sys.executable)") # not a script that starts it
record -e file --label file -o "$TMP/x.pb.gz" -- "$python3" -I "$TMP/program.py" "$TMP/top"
sums_by_label "$TMP/x.pb.gz" file read written >"$TMP/files"
expect_file 300 1000 "$TMP/top/deep/er/one"
expect_file 0 70 "$TMP/top/deep/two"
expect_file 0 5 "$TMP/top/deep/two (deleted)"
expect_file 0 4096 /dev/null
expect_file 0 222 memfd:mine
expect_file 33 33 '[pipe]'
expect_file 0 44 "$TMP/top/relative"
grep -Eq '^0 11 \.\.\./.*d1/d+2/d+3/end$' "$TMP/files" || fail "a long path has no end"
expect .lost.label == 0

# As in a container: the root directory is elsewhere, and one of its directories is a mount of another file system.
mkdir -p "$TMP/root/data" "$TMP/outside"
cat >"$TMP/inside.c" <<'END'
#include <fcntl.h>
#include <unistd.h>
int main(void)
{
    int top = open("/data", O_RDONLY | O_DIRECTORY); /* the root of a mount is nobody's entry */
    int fd = open("/data/sub/file", O_CREAT | O_RDWR, 0600), own = open("/at-the-root", O_CREAT | O_RDWR, 0600);
    return write(fd, "12345", 5) != 5 || write(own, "123", 3) != 3 || close(top);
}
END
gcc -O1 -static -o "$TMP/root/inside" "$TMP/inside.c"
cat >"$TMP/enter.sh" <<END
mount -t tmpfs none "$TMP/root/data" && mkdir "$TMP/root/data/sub" && exec chroot "$TMP/root" /inside
END
record -e file --label file -o "$TMP/x.pb.gz" -- unshare -m --propagation private bash "$TMP/enter.sh"
sums_by_label "$TMP/x.pb.gz" file read written >"$TMP/files"
expect_file 0 5 /data/sub/file
expect_file 0 3 /at-the-root
expect_file 0 0 /data

# There is room for 8,192 files in five seconds. All bytes are there.
cat >"$TMP/many.c" <<'END'
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    for (int i = 0; i < 12000; i++) {
        char name[32];
        snprintf(name, sizeof(name), "%d", i);
        int fd = open(name, O_CREAT | O_WRONLY, 0600);
        if (write(fd, "1234567", 7) != 7)
            return 1;
        close(fd);
    }
    return chdir(argv[argc - 1]) != 0;
}
END
gcc -O1 -o "$TMP/many" "$TMP/many.c"
mkdir "$TMP/crowd"
record -e file --label file -o "$TMP/x.pb.gz" -- env -C "$TMP/crowd" "$TMP/many" /
sums_by_label "$TMP/x.pb.gz" file read written >"$TMP/files"
expect .lost.label '>' 1000
expect .lost.sum == 0
others=$(awk '$3 == "[other]" { print $2 }' "$TMP/files")
distinct=$(grep -c "/crowd/" "$TMP/files")
all=$(awk '$3 == "[other]" || /\/crowd\// { n += $2 } END { print n }' "$TMP/files")
echo "$distinct files of 12000, $others bytes of others"
[ "$all" = 84000 ] || fail "$all of 84000 bytes"
((others > 0 && distinct > 4000 && distinct < 12000)) || fail "not some files, and the rest as one"

# Without the option, there are no labels; and a label of something that is not recorded is refused.
record -e file -o "$TMP/x.pb.gz" -- "$TMP/root/inside" || true
[ -z "$(sums_by_label "$TMP/x.pb.gz" file read written)" ] || fail "there are labels that nobody asked for"
expect_exit 2 '--label file: give -e file, too' "$XPROF" record -a -d 1s --label file
