/* Which files are held open: those that a process maps, or a stack whose names are not known yet. Whoever holds a
 * deleted file keeps its blocks on disk, and the file system below the root of a container that ended cannot be
 * unmounted.
 *
 * A file comes with a process that maps it. When that is gone, the kernel side is asked for another one: it announces
 * the file once more when a stack runs through it (xp_file.asked). If none comes in a whole interval, whose stacks have
 * their names by then, the file is closed. Its entry and its table stay; the answer to the question may still come
 * later, and opens it again.
 */
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fs.h"
#include "files/files_internal.h"
#include "opener/opener.h"
#include <errno.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOOK_NS     (60 * NS_PER_SEC) /* between two looks at a process that may have unmapped the file, or be another */
#define ROUNDS_LATE 2                 /* stacks on their way may name a file that was replaced */

void files_hold(struct files *f, struct file *e)
{
    if (e->fd < 0)
        return;
    if (f->open_fds < f->max_fds) {
        f->open_fds++;
        return;
    }
    close(e->fd);
    e->fd = -1;
}

void files_close_one(struct files *f, struct file *e)
{
    struct xp_file_key *left = e->fd < 0 || e->replaced ? NULL : VEC_PUSH(&f->left);
    if (left)
        *left = e->key;
    f->open_fds -= e->fd >= 0 && f->open_fds;
    xp_cleanup_close(&e->fd);
    e->fd = -1;
}

static void mapped_by(struct file *e, u32 tgid, u64 start, u64 end)
{
    e->tgid = tgid;
    e->start = start;
    e->end = end;
    e->mapped_ns = now_ns();
    e->asked_round = 0;
    e->value.asked = 0;
}

void files_seen_again(struct files *f, struct file *e, struct file_job *job)
{
    const struct xp_file_event *ev = &job->event;
    AUTO_CLOSE int fd = TAKE_FD(job->fd);
    free(TAKE_PTR(job->path));
    if (fd < 0 || files_check(fd, &e->key))
        return; /* when a stack runs through it, it is asked for again */
    if (e->fd < 0) {
        e->fd = TAKE_FD(fd);
        files_hold(f, e);
    }
    mapped_by(e, ev->tgid, ev->start, ev->end);
}

/* The process is there, but perhaps it is another program by now, or another process of the same number. */
static bool look(struct files *f, struct file *e)
{
    AUTO_FREE char *path = NULL;
    if (files_is_hung(f, e))
        return false;
    AUTO_CLOSE int fd = opener_mapping(f->opener, e->tgid, e->start, e->end, &path);
    if (fd == -EREMOTEIO)
        files_hung(f, e);
    return fd >= 0 && !files_check(fd, &e->key);
}

static bool is_mapped(struct files *f, struct file *e, u64 now)
{
    if (kill((pid_t)e->tgid, 0) && errno == ESRCH)
        return false;
    if (now - e->mapped_ns < LOOK_NS)
        return true;
    e->mapped_ns = now;
    return look(f, e);
}

/* Returns whether the kernel side has news. */
static bool ask(struct files *f, struct file *e)
{
    e->asked_round = f->round;
    e->value.asked = 1;
    return !probe_republish(f->probe, &e->key, &e->value);
}

/* What has no table is met again as a new file. */
static bool forget(struct files *f, struct file *e)
{
    probe_forget(f->probe, &e->key);
    files_close_one(f, e);
    e->replaced = true;
    return true;
}

/* One file; returns whether the kernel side has news. */
static bool review(struct files *f, struct file *e, u64 now)
{
    bool used = e->last_used == f->round;
    e->mapped_ns = used ? now : e->mapped_ns; /* by someone */
    if (e->replaced) {
        if (f->round - e->last_used >= ROUNDS_LATE)
            files_close_one(f, e);
        return false;
    }
    if (e->fd < 0)
        return e->asked_round && used && ask(f, e); /* the answer was lost */
    if (!e->asked_round && is_mapped(f, e, now))
        return false;
    if (!e->asked_round || used)
        return e->error ? !used && forget(f, e) : ask(f, e);
    files_close_one(f, e);
    return false;
}

void files_let_go(struct files *f)
{
    u64 now = now_ns();
    bool news = false;
    for (size_t i = 0; i < f->all.n; i++)
        if (f->all.v[i].id != XP_FILE_VDSO)
            news |= review(f, &f->all.v[i], now);
    if (news)
        probe_files_changed(f->probe);
}

const struct xp_file_key *files_left(const struct files *f, size_t *n)
{
    *n = f->left.n;
    return f->left.v;
}

struct files_held files_held(const struct files *f)
{
    struct files_held held = {0};
    struct stat st;
    for (size_t i = 0; i < f->all.n; i++) {
        if (f->all.v[i].fd < 0 || f->all.v[i].id == XP_FILE_VDSO || fs_stat(f->all.v[i].fd, &st))
            continue;
        held.files++;
        held.bytes += (u64)st.st_size;
        held.deleted_bytes += st.st_nlink ? 0 : (u64)st.st_blocks * 512;
    }
    return held;
}
