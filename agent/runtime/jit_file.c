#include "runtime/jit_file.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fs.h"
#include "opener/opener.h"
#include "proc/proc.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_STATUS ((size_t)64 << 10)
#define MAX_MAPS   ((size_t)4 << 20)
#define MAX_LOOKS  3

static int read_status(u32 tgid, struct jit_place *out)
{
    char path[64];
    AUTO_FREE char *text = NULL;
    unsigned uid;
    snprintf(path, sizeof(path), "/proc/%u/status", tgid);
    if (fs_read_file(path, MAX_STATUS, &text, NULL))
        return -ESRCH;
    const char *line = strstr(text, "\nUid:"), *ids = strstr(text, "\nNSpid:");
    if (!line || sscanf(line, "\nUid: %*u %u", &uid) != 1 || !ids)
        return -ESRCH;
    out->uid = uid;
    char *end = (char *)ids + strlen("\nNSpid:");
    for (char *at = end; *end != '\n' && *end; at = end) { /* the last number is the innermost namespace's */
        unsigned long pid = strtoul(at, &end, 10);
        if (end == at)
            break;
        out->ns_pid = (u32)pid;
    }
    return out->ns_pid ? 0 : -ESRCH;
}

int jit_place_open(struct opener *o, u32 tgid, u64 start, struct jit_place *out)
{
    struct jit_place p = {.tmp = -1, .dump = -1, .ticks = start / (NS_PER_SEC / (u64)sysconf(_SC_CLK_TCK))};
    int rc = read_status(tgid, &p);
    if (rc)
        return rc;
    AUTO_CLOSE int root = opener_root(o, tgid);
    if (root < 0)
        return root;
    p.tmp = opener_directory(o, root, "/tmp");
    if (p.tmp < 0) /* a jitdump may lie anywhere */
        p.tmp = -1;
    if (proc_start_ticks(tgid) != p.ticks) { /* still it, and so it was before */
        jit_place_close(&p);
        return -ESRCH;
    }
    *out = p;
    return 0;
}

void jit_place_close(struct jit_place *p)
{
    xp_cleanup_close(&p->tmp);
    xp_cleanup_close(&p->dump);
}

/* "..../jit-12.dump" is mapped, for no other reason than that it may be found. */
static bool is_dump(const char *path)
{
    const char *slash = strrchr(path, '/');
    size_t len = slash ? strlen(slash) : 0;
    return len > 10 && !strncmp(slash, "/jit-", 5) && !strcmp(slash + len - 5, ".dump");
}

static int find_dump(struct opener *o, u32 tgid)
{
    char place[64];
    AUTO_FREE char *maps = NULL;
    snprintf(place, sizeof(place), "/proc/%u/maps", tgid);
    if (fs_read_file(place, MAX_MAPS, &maps, NULL))
        return -ENOENT;
    for (char *line = maps, *next; line && *line; line = next) {
        unsigned long start, end;
        AUTO_FREE char *path = NULL;
        if ((next = strchr(line, '\n')))
            *next++ = 0;
        if (is_dump(line) && sscanf(line, "%lx-%lx", &start, &end) == 2)
            return opener_mapping(o, tgid, start, end, &path);
    }
    return -ENOENT;
}

static int open_text_map(const struct jit_place *p, struct opener *o)
{
    char path[64];
    struct stat st;
    snprintf(path, sizeof(path), "perf-%u.map", p->ns_pid);
    AUTO_CLOSE int fd = p->tmp < 0 ? -ENOENT : opener_file(o, p->tmp, path);
    int rc = fd < 0 ? fd : fs_stat(fd, &st);
    if (rc < 0)
        return rc;
    return st.st_uid == p->uid || st.st_uid == 0 ? TAKE_FD(fd) : -EPERM;
}

void jit_place_look(struct jit_place *p, struct opener *o, u32 tgid)
{
    if (p->dump >= 0 || p->looks == MAX_LOOKS)
        return;
    p->looks++;
    AUTO_CLOSE int fd = find_dump(o, tgid);
    p->dump = fd >= 0 && proc_start_ticks(tgid) == p->ticks ? TAKE_FD(fd) : -1;
}

int jit_place_map(struct jit_place *p, struct opener *o, u32 tgid)
{
    jit_place_look(p, o, tgid);
    if (p->dump < 0)
        return open_text_map(p, o);
    int fd = fcntl(p->dump, F_DUPFD_CLOEXEC, 3);
    return fd < 0 ? -errno : fd;
}
