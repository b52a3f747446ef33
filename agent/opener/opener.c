#include "opener/opener.h"
#include "base/child.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "bpf/xprof.h"
#include "opener/hung.h"
#include "opener/protocol.h"
#include <errno.h>
#include <string.h>

struct opener {
    struct hung *hung;
    int exe;
    struct child_process child;
    struct start_gate gate;
    struct child_clock clock;
    u32 id;
};

int opener_new(struct opener **out, struct hung *hung)
{
    CLEANUP(opener_free) struct opener *o = calloc(1, sizeof(*o));
    if (!o)
        return -ENOMEM;
    o->hung = hung;
    o->child = (struct child_process)CHILD_PROCESS_NONE;
    o->exe = child_open_self();
    if (o->exe < 0)
        return o->exe;
    *out = TAKE_PTR(o);
    return 0;
}

void opener_free(struct opener **o)
{
    if (!*o)
        return;
    opener_rest(*o);
    xp_cleanup_close(&(*o)->exe);
    free(*o);
    *o = NULL;
}

/* ---- The child -------------------------------------------------------------------------------------------------- */

void opener_rest(struct opener *o)
{
    child_clock_end(&o->clock, hung_end_child(o->hung, &o->child));
}

/* One that hung may be followed by the next: not more of them than a machine can bear. */
static int ensure_child(struct opener *o)
{
    const char *argv[] = {"xprof", OPENER_CHILD_ARG, "%d", NULL};
    if (o->child.pid)
        return 0;
    start_gate_pass(&o->gate);
    if (child_start(o->exe, argv, &o->child))
        return -ECHILD;
    child_clock_start(&o->clock, o->child.pid);
    return 0;
}

u64 opener_cpu_ns(struct opener *o)
{
    return child_clock_ns(&o->clock);
}

void opener_start(struct opener *o)
{
    int fd = opener_root(o, (u32)getpid());
    xp_cleanup_close(&fd);
}

/* ---- Requests --------------------------------------------------------------------------------------------------- */

/* The exchange with the child that there is. */
static int exchange(struct opener *o, const struct opener_request *rq, const int *fds, unsigned nfds,
                    struct opener_answer *a, int *fd)
{
    int got[PACKET_MAX_FDS];
    int rc = packet_send(o->child.socket, rq, sizeof(*rq), fds, nfds);
    if (!rc)
        rc = child_wait(&o->child, OPENER_MS);
    if (!rc)
        rc = packet_recv(o->child.socket, a, sizeof(*a), got);
    if (rc)
        return rc;
    for (unsigned i = 1; i < PACKET_MAX_FDS; i++)
        xp_cleanup_close(&got[i]);
    *fd = got[0];
    return a->id == rq->id ? 0 : -EPROTO;
}

/* Returns the descriptor, 0 without one, or -errno. A child that somebody killed between two requests is not the file's
 * fault: one more try with a new one. */
static int ask(struct opener *o, struct opener_request *rq, const int *fds, unsigned nfds, struct opener_answer *a)
{
    AUTO_CLOSE int fd = -1;
    int rc = 0;
    if (!o)
        fd = opener_perform(rq, fds, nfds, a);
    for (int try = 0; o && try < 2; try++) {
        rc = ensure_child(o);
        rq->id = ++o->id ? o->id : ++o->id;
        if (!rc)
            rc = exchange(o, rq, fds, nfds, a, &fd);
        if (!rc)
            break;
        opener_rest(o);
        if (rc != -EPIPE)
            return rc == -ETIMEDOUT ? -EREMOTEIO : rc;
    }
    if (rc)
        return -ECHILD;
    if (a->status)
        return a->status < 0 && a->status > -4096 ? a->status : -EPROTO;
    return rq->op >= OPENER_SEND ? 0 : fd < 0 ? -EPROTO : TAKE_FD(fd);
}

int opener_mapping(struct opener *o, u32 tgid, u64 start, u64 end, char **path)
{
    struct opener_request rq = {.op = OPENER_MAPPING, .tgid = tgid, .start = start, .end = end};
    struct opener_answer a;
    AUTO_CLOSE int fd = ask(o, &rq, NULL, 0, &a);
    if (fd < 0)
        return fd;
    char *copy = strndup(a.path, sizeof(a.path) - 1);
    if (!copy)
        return -ENOMEM;
    *path = copy;
    return TAKE_FD(fd);
}

int opener_root(struct opener *o, u32 tgid)
{
    struct opener_request rq = {.op = OPENER_ROOT, .tgid = tgid};
    struct opener_answer a;
    return ask(o, &rq, NULL, 0, &a);
}

static int ask_path(struct opener *o, enum opener_op op, int root, const char *path)
{
    struct opener_request rq = {.op = op};
    struct opener_answer a;
    size_t len = strlen(path);
    if (len >= sizeof(rq.path))
        return -ENAMETOOLONG;
    memcpy(rq.path, path, len + 1);
    return ask(o, &rq, &root, root >= 0, &a);
}

int opener_file(struct opener *o, int root, const char *path)
{
    return ask_path(o, OPENER_FILE, root, path);
}

int opener_directory(struct opener *o, int root, const char *path)
{
    return ask_path(o, OPENER_DIRECTORY, root, path);
}

int opener_read(struct opener *o, int fd, u64 offset, void *to, size_t len)
{
    struct opener_request rq = {.op = OPENER_READ, .len = (u32)len, .start = offset};
    struct opener_answer a;
    if (len > sizeof(a.data))
        return -EINVAL;
    int rc = ask(o, &rq, &fd, 1, &a);
    if (!rc)
        memcpy(to, a.data, len);
    return rc;
}

int opener_memory(struct opener *o, u32 tgid, u64 at, void *to, size_t len)
{
    struct opener_request rq = {.op = OPENER_MEMORY, .tgid = tgid, .start = at, .len = (u32)len};
    struct opener_answer a;
    if (len > OPENER_MAX_MEMORY)
        return -EINVAL;
    AUTO_CLOSE int fd = ask(o, &rq, NULL, 0, &a);
    ssize_t n = fd < 0 ? fd : pread(fd, to, len, 0);
    return fd < 0 ? fd : n < 0 ? -errno : n ? (int)n : -ENODATA;
}

int opener_sample_memory(struct opener *o, struct hung *h, const struct xp_sample *s, u64 at, void *to, size_t len)
{
    struct hung_place place = hung_place_of_process(s->tgid, s->start, s->cgroup);
    if (hung_is(h, &place, now_ns()))
        return -EREMOTEIO;
    int n = opener_memory(o, s->tgid, at, to, len);
    if (n == -EREMOTEIO)
        hung_note(h, &place, now_ns());
    return n;
}

int opener_send(struct opener *o, int sock, const void *data, size_t len, const int *fds, unsigned nfds)
{
    struct opener_request rq = {.op = OPENER_SEND, .len = (u32)len};
    struct opener_answer a;
    int all[PACKET_MAX_FDS] = {sock};
    if (len > sizeof(rq.data) || nfds >= PACKET_MAX_FDS)
        return -EINVAL;
    memcpy(rq.data, data, len);
    memcpy(all + 1, fds, nfds * sizeof(*fds));
    return ask(o, &rq, all, nfds + 1, &a);
}
