#include "container/processes_test.h"
#include "base/fs.h"
#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
