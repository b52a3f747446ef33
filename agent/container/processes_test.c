#include "container/processes_test.h"
#include "base/cleanup.h"
#include "base/fs.h"
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

int fake_process(struct fake_processes *p, unsigned pid, const char *group)
{
    char path[128], text[256];
    if (!p->dir[0]) {
        snprintf(p->dir, sizeof(p->dir), "/tmp/xprof-proc-XXXXXX");
        if (!mkdtemp(p->dir))
            return -errno;
    }
    snprintf(path, sizeof(path), "%s/%u", p->dir, pid);
    int rc = fs_mkdirs(path);
    snprintf(path, sizeof(path), "%s/%u/cgroup", p->dir, pid);
    snprintf(text, sizeof(text), "1:cpu:/elsewhere\n0::%s\n", group);
    return rc ? rc : fs_replace_file(path, text, strlen(text), 0600);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
    return remove(path);
}

void fake_processes_free(struct fake_processes *p)
{
    if (p->dir[0])
        nftw(p->dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

pid_t process_with_root(const char *root)
{
    int ready[2];
    char yes = 0;
    if (pipe2(ready, O_CLOEXEC))
        return -1;
    AUTO_CLOSE int in = ready[0];
    AUTO_CLOSE int out = ready[1];
    pid_t child = fork();
    if (!child) {
        if (geteuid() && unshare(CLONE_NEWUSER))
            _exit(1);
        if (chroot(root) || write(out, "y", 1) != 1)
            _exit(1);
        pause();
        _exit(0);
    }
    close(TAKE_FD(out));
    if (child > 0 && read(in, &yes, 1) == 1)
        return child;
    process_end(&child);
    return -1;
}

void process_end(const pid_t *child)
{
    if (*child > 0) {
        kill(*child, SIGKILL);
        waitpid(*child, NULL, 0);
    }
}
