/* The child's side: take a file, work on it, answer, until the parent closes the socket. */
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fs.h"
#include "object/dwarf_index.h"
#include "parser/merged_names.h"
#include "parser/merged_table.h"
#include "parser/protocol.h"
#include "parser/sandbox.h"
#include "runtime/jit_map.h"
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>

/* A fragmented heap is cheaper to leave than to mend: a new child costs 2 ms. Large blocks are mapped one by one and go
 * back when freed, so what stays in the heap is small change that lies in the way. */
#define WORN_REQUESTS 1000
#define WORN_HEAP     (16 << 20)
#define LARGE_BLOCK   (256 << 10)

struct child {
    const struct parser_work *work;
    unsigned requests;
    const char *heap;     /* the program break at the start */
    unsigned cpu_seconds; /* after which it leaves */
};

static int reply_bytes(const void *data, size_t len, struct parser_answer *a, int *fd)
{
    if (!len || len > PARSER_MAX_REPLY)
        return -ENOSPC;
    int memfd = fs_sealed_memfd("xprof-reply", data, len);
    if (memfd < 0)
        return memfd;
    a->len = len;
    *fd = memfd;
    return 0;
}

static int do_table(const struct parser_work *work, int file, struct parser_answer *a, int *fd)
{
    struct table_limits limits = TABLE_LIMITS_DEFAULT;
    struct xp_table *image = NULL;
    size_t len = 0;
    int rc = work->table(file, &limits, &image, &len);
    if (!rc)
        rc = reply_bytes(image, len, a, fd);
    free(image);
    return rc;
}

static int do_lines(const struct parser_work *work, const int *fds, struct parser_answer *a, int *fd)
{
    void *index = NULL;
    size_t len = 0;
    int rc = work->lines(fds[0], &index, &len);
    if (rc == -ENODATA && fds[1] >= 0)
        rc = work->debug_lines(fds[0], fds[1], &index, &len);
    if (!rc)
        rc = reply_bytes(index, len, a, fd);
    free(index);
    return rc;
}

static int do_names(const struct parser_work *work, const struct parser_request *rq, const int *fds,
                    struct parser_answer *a, int *fd)
{
    u64 n = rq->n;
    int memfd = fds[1];
    struct stat st;
    if (n > PARSER_MAX_OFFSETS || fstat(memfd, &st) || (u64)st.st_size != n * sizeof(u64))
        return -EPROTO;
    u64 *offsets = n ? mmap(NULL, n * sizeof(u64), PROT_READ, MAP_SHARED, memfd, 0) : NULL;
    if (offsets == MAP_FAILED)
        return -errno;
    AUTO_BUF struct buf out = {0};
    int rc = rq->op == PARSER_JIT ? work->jit(fds[0], offsets, n, &out) : work->names(fds[0], fds[2], offsets, n, &out);
    if (!rc)
        rc = out.failed ? -ENOMEM : reply_bytes(out.data, out.len, a, fd);
    if (n)
        munmap(offsets, n * sizeof(u64));
    return rc;
}

static int do_request(const struct parser_work *work, const struct parser_request *rq, const int *fds,
                      struct parser_answer *a, int *fd)
{
    struct stat st;
    if (fstat(fds[0], &st))
        return -errno;
    if (!S_ISREG(st.st_mode)) /* a pipe would hang, a device do anything */
        return -ENOEXEC;
    switch (rq->op) {
    case PARSER_IDENTIFY:
        return work->identify(fds[0], rq->secret, &a->key);
    case PARSER_TABLE:
        return do_table(work, fds[0], a, fd);
    case PARSER_NAMES:
    case PARSER_JIT:
        return do_names(work, rq, fds, a, fd);
    case PARSER_LINES:
        return do_lines(work, fds, a, fd);
    default:
        return -EPROTO;
    }
}

static bool worn_out(struct child *c)
{
    c->requests++;
    return c->requests >= WORN_REQUESTS || (const char *)sbrk(0) - c->heap > WORN_HEAP ||
           clock_ns(CLOCK_PROCESS_CPUTIME_ID) >= c->cpu_seconds * NS_PER_SEC;
}

/* One request. 0, 1 when it was the last one, or -errno. */
static int serve(struct child *c)
{
    struct parser_request rq;
    int fds[PARSER_MAX_FDS];
    int rc = packet_recv(SANDBOX_SOCKET, &rq, sizeof(rq), fds);
    if (rc)
        return rc;
    AUTO_CLOSE int file = fds[0];
    AUTO_CLOSE int offsets = fds[1];
    AUTO_CLOSE int index = fds[2];
    (void)offsets, (void)index;
    AUTO_CLOSE int memfd = -1;
    struct parser_answer a;
    memset(&a, 0, sizeof(a));
    a.id = rq.id;
    a.status = file < 0 ? -EPROTO : do_request(c->work, &rq, fds, &a, &memfd);
    if (worn_out(c))
        a.flags |= PARSER_LAST;
    rc = packet_send(SANDBOX_SOCKET, &a, sizeof(a), &memfd, memfd >= 0);
    return rc ? rc : (a.flags & PARSER_LAST) != 0;
}

/* Signals that the parent blocked or ignored work again; handlers are gone since the exec. */
static void reset_signals(void)
{
    sigset_t none;
    sigemptyset(&none);
    for (int s = 1; s < SIGRTMIN; s++)
        signal(s, SIG_DFL);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

/* The C library's qsort asks once how much memory there is; before glibc 2.33 it reads /proc/meminfo for that. */
static int compare(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(u64));
}

static void prepare_library(void)
{
    u64 some[256] = {0};
    mallopt(M_MMAP_THRESHOLD, LARGE_BLOCK);
    qsort(some, sizeof(some) / sizeof(*some), sizeof(*some), compare);
}

int parser_child_run(int argc, char **argv, const struct parser_work *work)
{
    if (argc != 5)
        return 2;
    unsigned seconds = (unsigned)(strtoul(argv[4], NULL, 10) / 1000) + 1;
    struct child c = {.work = work, .heap = sbrk(0), .cpu_seconds = seconds};
    struct sandbox s = {
        .socket = atoi(argv[2]),
        .memory = strtoull(argv[3], NULL, 10),
        .file_size = PARSER_MAX_REPLY,
        .cpu_seconds = 2 * seconds + 1, /* what is left when it should leave suffices for one request more */
    };
    reset_signals();
    prepare_library();
    prctl(PR_SET_NAME, "xprof-parser");
    struct parser_answer hello = {.status = sandbox_enter(&s)};
    int rc = packet_send(SANDBOX_SOCKET, &hello, sizeof(hello), NULL, 0);
    if (rc || hello.status)
        return 1;
    while (!rc)
        rc = serve(&c);
    return rc < 0 && rc != -EPIPE;
}

bool parser_is_child(int argc, char **argv)
{
    return argc > 1 && strcmp(argv[1], PARSER_CHILD_ARG) == 0;
}

int parser_child_main(int argc, char **argv)
{
    static const struct parser_work work = {
        .identify = merged_identify,
        .table = merged_table,
        .names = merged_names,
        .jit = jit_names,
        .lines = merged_lines,
        .debug_lines = dwarf_index_build_debug,
    };
    /* Not through exit(): whatever the libraries registered there would run inside the cell. */
    _exit(parser_child_run(argc, argv, &work));
}
