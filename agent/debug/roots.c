#include "debug/roots.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "opener/opener.h"
#include "proc/proc.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

static int identify(struct root *r)
{
    struct statx x;
    if (statx(r->fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_INO | STATX_MNT_ID, &x))
        return -errno;
    r->dev = makedev(x.stx_dev_major, x.stx_dev_minor);
    r->ino = x.stx_ino;
    r->mount = x.stx_mask & STATX_MNT_ID ? x.stx_mnt_id : 0; /* Linux 5.8: else processes of one container are told
                                                                apart by less */
    return 0;
}

void roots_free(struct roots *r)
{
    for (size_t i = 0; i < r->v.n; i++)
        if (r->v.v[i].refs)
            close(r->v.v[i].fd);
    vec_free(&r->v);
}

u32 roots_hold(struct roots *roots, struct opener *o, u32 tgid, u64 start_ns)
{
    AUTO_CLOSE int fd = opener_root(o, tgid);
    if (start_ns && !proc_is(tgid, start_ns))
        return 0; /* the number is another process's */
    struct root new = {.fd = fd, .refs = 1}, *place = NULL;
    if (fd < 0 || identify(&new))
        return 0;
    for (struct root *r = roots->v.v; r < roots->v.v + roots->v.n; r++) {
        if (r->refs && r->dev == new.dev && r->ino == new.ino && r->mount == new.mount) {
            r->refs++;
            return (u32)(r - roots->v.v) + 1;
        }
        place = r->refs ? place : r;
    }
    place = place ? place : VEC_PUSH(&roots->v);
    if (!place)
        return 0;
    *place = new;
    (void)TAKE_FD(fd);
    return (u32)(place - roots->v.v) + 1;
}

void roots_release(struct roots *roots, u32 root)
{
    struct root *r = root ? &roots->v.v[root - 1] : NULL;
    if (r && !--r->refs)
        close(r->fd);
}

int roots_fd(const struct roots *roots, u32 root)
{
    return root ? roots->v.v[root - 1].fd : -1;
}

/* Below a root that this process sees, too (chroot), that root is in front. */
char *roots_path(const struct roots *roots, u32 root, const char *path)
{
    char self[32], seen[4096];
    snprintf(self, sizeof(self), "/proc/self/fd/%d", roots_fd(roots, root));
    ssize_t n = readlink(self, seen, sizeof(seen));
    bool below = n > 1 && (size_t)n < sizeof(seen) && !strncmp(path, seen, (size_t)n) && path[n] == '/';
    return strdup(below ? path + n : path);
}
