/* What the child of an opener does: the calls that may hang. */
#include "base/cleanup.h"
#include "base/fs.h"
#include "opener/opener.h"
#include "opener/protocol.h"
#include "proc/proc.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- Operations ------------------------------------------------------------------------------------------------- */

static int open_mapping(const struct opener_request *rq, struct opener_answer *a)
{
    AUTO_FREE char *path = NULL;
    int fd = proc_open_mapping(rq->tgid, rq->start, rq->end, &path);
    if (fd >= 0)
        snprintf(a->path, sizeof(a->path), "%s", path);
    return fd;
}

static int open_root(u32 tgid)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%u/root", tgid);
    int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

static int open_below(int root, const char *path, int flags)
{
    if (root >= 0)
        return fs_open_in_root(root, path, flags | O_PATH);
    int fd = open(path, flags | O_PATH | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

static int open_file(int root, const char *path)
{
    struct stat st;
    AUTO_CLOSE int fd = open_below(root, path, 0);
    int rc = fd < 0 ? fd : fs_stat(fd, &st);
    if (rc < 0)
        return rc;
    return S_ISREG(st.st_mode) ? TAKE_FD(fd) : -ENOTSUP;
}

/* Those that were opened for it are closed before this returns, for that may hang, too. */
static int send_opened(const struct opener_request *rq, const int *fds, unsigned nfds)
{
    int opened[PACKET_MAX_FDS], with[PACKET_MAX_FDS] = {0}, rc = 0;
    unsigned n = 0;
    if (!nfds || rq->len > sizeof(rq->data))
        return -EPROTO;
    for (unsigned i = 1; !rc && i < nfds; i++) {
        bool path = fs_is_path(fds[i]);
        int fd = path ? fs_open_regular(fds[i]) : fds[i];
        rc = fd < 0 ? fd : 0;
        with[i - 1] = fd;
        if (!rc && path)
            opened[n++] = fd;
    }
    if (!rc)
        rc = packet_send(fds[0], rq->data, rq->len, with, nfds - 1);
    for (unsigned i = 0; i < n; i++)
        close(opened[i]);
    return rc;
}

static int read_opened(const struct opener_request *rq, int place, u8 *to)
{
    if (rq->len > OPENER_MAX_DATA)
        return -EPROTO;
    AUTO_CLOSE int fd = fs_open_regular(place);
    ssize_t n = fd < 0 ? fd : pread(fd, to, rq->len, (off_t)rq->start);
    if (fd < 0)
        return fd;
    return n < 0 ? -errno : (size_t)n == rq->len ? 0 : -ENODATA;
}

/* As much of it as can be read, page by page. */
static int copy_memory(const struct opener_request *rq)
{
    static u8 copy[OPENER_MAX_MEMORY];
    char path[64];
    size_t n = 0, len = rq->len < sizeof(copy) ? rq->len : sizeof(copy);
    snprintf(path, sizeof(path), "/proc/%u/mem", rq->tgid);
    AUTO_CLOSE int mem = open(path, O_RDONLY | O_CLOEXEC);
    if (mem < 0)
        return -errno;
    while (n < len) {
        size_t page = 4096 - ((rq->start + n) & 4095), part = page < len - n ? page : len - n;
        if (pread(mem, copy + n, part, (off_t)(rq->start + n)) != (ssize_t)part)
            break;
        n += part;
    }
    return n ? fs_sealed_memfd("stack", copy, n) : -ENODATA;
}

int opener_perform(const struct opener_request *rq, const int *fds, unsigned nfds, struct opener_answer *a)
{
    int rc = -EPROTO;
    a->path[0] = 0;
    if (rq->op == OPENER_MAPPING)
        rc = open_mapping(rq, a);
    else if (rq->op == OPENER_ROOT)
        rc = open_root(rq->tgid);
    else if (rq->op == OPENER_FILE)
        rc = open_file(nfds ? fds[0] : -1, rq->path);
    else if (rq->op == OPENER_DIRECTORY)
        rc = open_below(nfds ? fds[0] : -1, rq->path, O_DIRECTORY);
    else if (rq->op == OPENER_MEMORY)
        rc = copy_memory(rq);
    else if (rq->op == OPENER_SEND)
        rc = send_opened(rq, fds, nfds);
    else if (rq->op == OPENER_READ && nfds)
        rc = read_opened(rq, fds[0], a->data);
    a->status = rc < 0 ? rc : 0;
    return rc >= 0 && rq->op < OPENER_SEND ? rc : -1;
}

/* ---- Life ------------------------------------------------------------------------------------------------------- */

static void close_all(int fds[PACKET_MAX_FDS])
{
    for (unsigned i = 0; i < PACKET_MAX_FDS; i++)
        xp_cleanup_close(&fds[i]);
}

static int serve(int sock)
{
    static struct opener_request rq; /* 4 KiB each, once */
    static struct opener_answer a;
    int fds[PACKET_MAX_FDS];
    unsigned nfds = 0;
    int rc = packet_recv(sock, &rq, sizeof(rq), fds);
    if (rc)
        return rc;
    while (nfds < PACKET_MAX_FDS && fds[nfds] >= 0)
        nfds++;
    AUTO_CLOSE int fd = opener_perform(&rq, fds, nfds, &a);
    close_all(fds);
    a.id = rq.id;
    return packet_send(sock, &a, sizeof(a), &fd, fd >= 0);
}

bool opener_is_child(int argc, char **argv)
{
    return argc > 2 && !strcmp(argv[1], OPENER_CHILD_ARG);
}

int opener_child_main(int argc, char **argv)
{
    sigset_t none;
    int sock = atoi(argv[2]), rc = 0;
    sigemptyset(&none);
    prctl(PR_SET_NAME, "xprof-opener");
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    sigprocmask(SIG_SETMASK, &none, NULL);
    while (!rc)
        rc = serve(sock);
    return rc != -EPIPE;
}
