/* Attaches to the files of a process, and to those where the kernel refuses that for now, some time later once more. */
#include "base/clock.h"
#include "base/log.h"
#include "pipeline/heaps_internal.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CALLS_US    50000 /* calls of allocators take less */
#define RETRY_NS    (10ull * 1000000000)
#define RETRY_TIMES 20 /* as long as it took, nothing is tried again */
#define SAID_MOST   16 /* files of which it is said that nothing is seen there; of others there is the count */

static struct followed *followed(const struct process *p, u32 file)
{
    for (size_t i = 0; i < p->files.n; i++)
        if (p->files.v[i].file == file)
            return &p->files.v[i];
    return NULL;
}

/* Which file it is, whatever its ID. No file system is asked. */
static bool identify(const struct known_file *f, struct followed *to)
{
    struct statx st;
    if (statx(f->fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_INO, &st))
        return false;
    to->dev = (u64)st.stx_dev_major << 32 | st.stx_dev_minor;
    to->ino = st.stx_ino;
    return true;
}

/* Whether it is followed under another ID, in place of which this one comes. */
static bool renames(struct heaps *h, const struct process *p, const struct followed *fresh)
{
    for (size_t i = 0; fresh->ino && i < p->files.n; i++) {
        struct followed *old = &p->files.v[i];
        if (old->dev != fresh->dev || old->ino != fresh->ino)
            continue;
        heap_files_give(&h->files, old->file);
        old->file = fresh->file;
        return true;
    }
    return false;
}

/* While one of its functions is followed and another is not yet, a process that runs does what is not seen: what was
 * known of it before is not worth anything. Nor is it until calls that had begun before have come to their end. One
 * that is stopped, and only by us, does nothing. */
static int attach_strictly(struct heaps *h, const struct process *p, const struct known_file *f,
                           struct probe_heap_links *links, bool held)
{
    if (!held)
        probe_heap_rest(h->probe, h->event, p->place, true);
    int rc = heaps_attach(h, p, f, links);
    if (!held) {
        usleep(CALLS_US);
        probe_heap_rest(h->probe, h->event, p->place, false);
    }
    return rc;
}

static int attach(struct heaps *h, const struct process *p, const struct known_file *f, struct probe_heap_links *links,
                  bool held)
{
    return h->config.strict ? attach_strictly(h, p, f, links, held) : heaps_attach(h, p, f, links);
}

/* ---- What the kernel refuses ------------------------------------------------------------------------------------- */

/* All probes of a place count references at the same address, or none does (kernel/events/uprobes.c: alloc_uprobe). */
static const char *advice(int rc)
{
    if (rc == -EINVAL)
        return "another tool has probes there that count references, such as bcc or SystemTap; end it";
    if (rc == -EPERM || rc == -EACCES)
        return "give xprof CAP_BPF and CAP_PERFMON, and CAP_SYS_ADMIN before Linux 6.6";
    return "see the kernel's log";
}

/* Returns the end of the line that is to be said of a file; NULL: none is. */
static const char *may_say(struct heaps *h, struct known_file *f)
{
    if (f->said || h->said == SAID_MOST)
        return NULL;
    f->said = true;
    return ++h->said == SAID_MOST ? "; further files are only counted" : "";
}

static void say_refused(struct heaps *h, struct known_file *f, int rc)
{
    char link[64], path[512];
    const char *end = may_say(h, f);
    if (!end)
        return;
    snprintf(link, sizeof(link), "/proc/self/fd/%d", f->fd);
    ssize_t n = readlink(link, path, sizeof(path) - 1);
    path[n > 0 ? n : 0] = 0;
    log_clean(path);
    log_warn(
        "event %s: the kernel refuses probes in %s (%s), so what processes do there is not seen: %s; xprof tries "
        "again every %llu s%s",
        h->config.name, path, strerror(-rc), advice(rc), RETRY_NS / 1000000000, end);
}

void heaps_say_remote(struct heaps *h, struct known_file *f, const struct xp_listed *l)
{
    const char *end = may_say(h, f);
    if (end)
        log_warn(
            "event %s: process %u runs code from a file system that may not answer (type 0x%x, such as FUSE or "
            "NFS), where it is left alone: probes would wait for it, and all forks of the machine for them%s",
            h->config.name, l->at.tgid, l->magic, end);
}

void heaps_say_without(struct heaps *h, struct known_file *f, const struct xp_listed *l)
{
    const char *end = may_say(h, f);
    if (end)
        log_warn("event %s: the file %s that process %u has mapped has no %s %s%s: nothing is counted there%s",
                 h->config.name, h->config.named->file, l->at.tgid, h->config.named->usdt ? "USDT probe" : "function",
                 h->config.named->function,
                 h->config.named->usdt ? " with the arguments that are asked for"
                                       : " by its symbols, or is a Go program, whose returns cannot be seen",
                 end);
}

void heaps_note_attached(struct heaps *h, struct known_file *f, struct followed *in, int rc)
{
    heaps_add(rc ? &h->figures.failed : &h->figures.attached, 1);
    bool refused = rc && rc != -ESRCH && rc != -ENODATA; /* the process has ended, or the event */
    if (refused && !in->refused) {
        heaps_add(&h->figures.probes_refused, 1);
        say_refused(h, f, rc);
    }
    in->refused = refused;
}

void heaps_retry(struct heaps *h)
{
    u64 begun = now_ns();
    if (begun < h->retry_ns)
        return;
    for (size_t i = 0; i < h->processes.n; i++) {
        struct process *p = &h->processes.v[i];
        for (size_t k = 0; k < p->files.n && !heaps_ending(h); k++) {
            struct followed *in = &p->files.v[k];
            struct known_file *f = in->refused ? heap_files_find(&h->files, in->file) : NULL;
            if (f && f->fd >= 0)
                heaps_note_attached(h, f, in, attach(h, p, f, &in->links, false));
        }
    }
    u64 took = now_ns() - begun;
    h->retry_ns = begun + (RETRY_TIMES * took > RETRY_NS ? RETRY_TIMES * took : RETRY_NS);
}

void heaps_follow(struct heaps *h, struct process *p, struct known_file *f, bool held)
{
    struct followed fresh = {.file = f->id};
    if (followed(p, f->id))
        return;
    bool known = identify(f, &fresh) && renames(h, p, &fresh);
    struct followed *place = known ? NULL : VEC_PUSH(&p->files);
    f->users += known || place;
    if (!place)
        return;
    *place = fresh;
    heaps_note_attached(h, f, place, attach(h, p, f, &place->links, held));
}
