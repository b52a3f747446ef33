/* The child's side: take a file, work on it, answer, until the parent closes the socket. */
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/json.h"
#include "dwarf/dwarf.h"
#include "generated/generated.h"
#include "parser/readable_functions.h"
#include "parser/child_internal.h"
#include "parser/merged_names.h"
#include "parser/merged_table.h"
#include "parser/sandbox.h"
#include "parser/synth_kept.h"
#include "parser/synth_table.h"
#include "runtime/go_heap.h"
#include "runtime/go_locks.h"
#include "runtime/jit_map.h"
#include "runtime/runtime.h"
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
    struct merged_table *held; /* what the last request has identified, for the next one to make its table of */
    struct table_key held_key;
    struct synth_kept *kept; /* of the file whose stretches were read last */
    unsigned requests;
    const char *heap;     /* the program break at the start */
    unsigned cpu_seconds; /* after which it leaves */
};

static void slots_close(struct parser_slots *s)
{
    for (unsigned i = 0; i < PARSER_MAX_FDS; i++) {
        xp_cleanup_close(&s->fd[i]);
        s->fd[i] = -1;
    }
}

/* A request, and its descriptors in their slots. */
static int receive(struct parser_request *rq, struct parser_slots *out)
{
    int fds[PACKET_MAX_FDS];
    unsigned k = 0;
    int rc = packet_recv(SANDBOX_SOCKET, rq, sizeof(*rq), fds);
    for (unsigned i = 0; !rc && i < PARSER_MAX_FDS; i++)
        if (rq->slots >> i & 1)
            out->fd[i] = fds[k++];
    for (; !rc && k < PACKET_MAX_FDS; k++)
        xp_cleanup_close(&fds[k]);
    return rc;
}

int child_reply(const void *data, size_t len, struct parser_answer *a, int *fd)
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

static int do_identify(struct child *c, const struct parser_request *rq, int file, struct table_key *key)
{
    merged_free(&c->held);
    int rc = c->work->identify(file, rq->secret, &c->held_key, &c->held);
    if (!rc)
        *key = c->held_key;
    return rc;
}

/* Of the bytes that gave the file its key, or of others that give it the same. */
static int do_table(struct child *c, const struct parser_request *rq, int file, struct parser_answer *a, int *fd)
{
    struct table_limits limits = TABLE_LIMITS_DEFAULT;
    AUTO_FREE struct xp_table *image = NULL;
    struct table_key key;
    size_t len = 0;
    int rc = c->held && table_key_equal(&c->held_key, &rq->key) ? 0 : do_identify(c, rq, file, &key);
    if (!rc && !table_key_equal(&c->held_key, &rq->key))
        rc = -ESTALE;
    if (!rc)
        rc = c->work->table(c->held, &limits, &image, &len);
    return rc ? rc : child_reply(image, len, a, fd);
}

/* Has the parent open a file that debug information names. An owned fd or -errno. */
static int want_file(void *ctx, const char *dir, const char *name)
{
    const struct parser_request *rq = ctx;
    AUTO_BUF struct buf text = {0};
    struct parser_slots given = PARSER_SLOTS_NONE;
    struct parser_request answer;
    struct parser_answer want;
    memset(&want, 0, sizeof(want));
    buf_add(&text, dir, strlen(dir) + 1);
    buf_add(&text, name, strlen(name) + 1);
    if (text.failed || text.len > PARSER_MAX_WANT)
        return -ENAMETOOLONG;
    AUTO_CLOSE int memfd = fs_sealed_memfd("xprof-want", text.data, text.len);
    if (memfd < 0)
        return memfd;
    want.id = rq->id;
    want.len = text.len;
    want.flags = PARSER_WANTS;
    int rc = packet_send(SANDBOX_SOCKET, &want, sizeof(want), &memfd, 1);
    if (!rc)
        rc = receive(&answer, &given);
    if (rc || answer.op != PARSER_GIVE || answer.id != rq->id)
        _exit(1); /* nobody there who could be answered */
    int fd = TAKE_FD(given.fd[SLOT_FILE]);
    slots_close(&given);
    return fd >= 0 ? fd : answer.n && answer.n < 4096 ? -(int)answer.n : -ENOENT;
}

static int do_lines(const struct parser_work *work, const struct parser_request *rq, const int *fds,
                    struct parser_answer *a, int *fd)
{
    struct dwarf_fds files = {.file = fds[SLOT_FILE],
                              .debug = fds[SLOT_DEBUG],
                              .alt = fds[SLOT_ALT],
                              .dwp = fds[SLOT_DWP],
                              .dwo = want_file,
                              .ctx = (void *)rq};
    void *index = NULL;
    size_t len = 0;
    int rc = work->lines(&files, &index, &len);
    if (!rc)
        rc = child_reply(index, len, a, fd);
    free(index);
    return rc;
}

static int do_name_index(const struct parser_work *work, const int *fds, struct parser_answer *a, int *fd)
{
    struct names_fds files = NAMES_FDS_OF(fds[SLOT_FILE]);
    files.symbols = fds[SLOT_SYMBOLS];
    AUTO_FREE void *index = NULL;
    size_t len = 0;
    int rc = work->name_index(&files, &index, &len);
    return rc ? rc : child_reply(index, len, a, fd);
}

static int do_synth(const struct parser_work *work, const struct parser_request *rq, int file, struct parser_answer *a,
                    int *fd)
{
    struct table_limits limits = TABLE_LIMITS_DEFAULT;
    AUTO_BUF struct buf out = {0};
    int rc = work->synth(file, rq->secret, rq->n ? &rq->key : NULL, &limits, &out);
    return rc ? rc : child_reply(out.data, out.len, a, fd);
}

static int do_stretches(struct child *c, const struct parser_request *rq, const int *fds, struct parser_answer *a,
                        int *fd)
{
    struct table_limits limits = TABLE_LIMITS_DEFAULT;
    AUTO_BUF struct buf out = {0};
    struct stat st;
    int memfd = fds[SLOT_OFFSETS];
    if (!rq->n || rq->n > PARSER_MAX_STRETCHES || fstat(memfd, &st) || (u64)st.st_size != rq->n * sizeof(u32))
        return -EPROTO;
    u32 *wanted = mmap(NULL, rq->n * sizeof(*wanted), PROT_READ, MAP_SHARED, memfd, 0);
    if (wanted == MAP_FAILED)
        return -errno;
    int rc = c->work->stretches(fds[SLOT_FILE], fds[SLOT_INDEX], wanted, rq->n, &limits, &c->kept, &out);
    munmap(wanted, rq->n * sizeof(*wanted));
    return rc ? rc : child_reply(out.data, out.len, a, fd);
}

static int do_names(const struct parser_work *work, const struct parser_request *rq, const int *fds,
                    struct parser_answer *a, int *fd)
{
    u64 n = rq->n;
    int memfd = fds[SLOT_OFFSETS];
    struct names_fds files = {.file = fds[SLOT_FILE],
                              .index = fds[SLOT_INDEX],
                              .symbols = fds[SLOT_SYMBOLS],
                              .names = fds[SLOT_NAMES],
                              .short_names = rq->short_names != 0};
    struct stat st;
    if (n > PARSER_MAX_OFFSETS || fstat(memfd, &st) || (u64)st.st_size != n * sizeof(u64))
        return -EPROTO;
    u64 *offsets = n ? mmap(NULL, n * sizeof(u64), PROT_READ, MAP_SHARED, memfd, 0) : NULL;
    if (offsets == MAP_FAILED)
        return -errno;
    AUTO_BUF struct buf out = {0};
    int rc = rq->op == PARSER_JIT ? work->jit(files.file, files.symbols, offsets, n, &out)
                                  : work->names(&files, offsets, n, &out);
    if (!rc)
        rc = out.failed ? -ENOMEM : child_reply(out.data, out.len, a, fd);
    if (n)
        munmap(offsets, n * sizeof(u64));
    return rc;
}

static int do_request(struct child *c, const struct parser_request *rq, const int *fds, struct parser_answer *a,
                      int *fd)
{
    const struct parser_work *work = c->work;
    struct stat st;
    if (fstat(fds[0], &st))
        return -errno;
    if (!S_ISREG(st.st_mode)) /* a pipe would hang, a device do anything */
        return -ENOEXEC;
    switch (rq->op) {
    case PARSER_IDENTIFY:
        return do_identify(c, rq, fds[0], &a->key);
    case PARSER_TABLE:
        return do_table(c, rq, fds[0], a, fd);
    case PARSER_NAMES:
    case PARSER_JIT:
        return do_names(work, rq, fds, a, fd);
    case PARSER_NAME_INDEX:
        return do_name_index(work, fds, a, fd);
    case PARSER_LINES:
        return do_lines(work, rq, fds, a, fd);
    case PARSER_LINKS:
    case PARSER_FACTS:
    case PARSER_ALLOCATORS:
    case PARSER_GO_LOCKS:
    case PARSER_GO_HEAP:
    case PARSER_FUNCTIONS:
    case PARSER_USDT:
        return child_facts(work, rq, fds, a, fd);
    case PARSER_SYNTH_IDENTIFY:
        return work->synth_identify(fds[0], rq->secret, &a->key);
    case PARSER_SYNTH:
        return do_synth(work, rq, fds[0], a, fd);
    case PARSER_STRETCHES:
        return do_stretches(c, rq, fds, a, fd);
    case PARSER_GENERATED:
    case PARSER_ATTACH:
    case PARSER_RUNTIME_NAMES:
    case PARSER_ABOUT:
        return child_memory(work, rq, fds, a, fd);
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
    CLEANUP(slots_close) struct parser_slots slots = PARSER_SLOTS_NONE;
    AUTO_CLOSE int memfd = -1;
    int rc = receive(&rq, &slots);
    if (rc)
        return rc;
    struct parser_answer a;
    memset(&a, 0, sizeof(a));
    a.id = rq.id;
    a.status = slots.fd[SLOT_FILE] < 0 ? -EPROTO : do_request(c, &rq, slots.fd, &a, &memfd);
    slots_close(&slots); /* before the answer: a file system may hang in it, which must not fall on the next file */
    if (worn_out(c))
        a.flags |= PARSER_LAST;
    rc = packet_send(SANDBOX_SOCKET, &a, sizeof(a), &memfd, memfd >= 0);
    if (rq.op != PARSER_IDENTIFY)
        merged_free(&c->held);
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

static int compare(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(u64));
}

/* What libraries open files for, once: before glibc 2.33, qsort reads from /proc/meminfo how much memory there is;
 * tables of JSON want random numbers. */
static void prepare_library(void)
{
    u64 some[256] = {0};
    mallopt(M_MMAP_THRESHOLD, LARGE_BLOCK);
    qsort(some, sizeof(some) / sizeof(*some), sizeof(*some), compare);
    json_prepare();
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
    struct parser_answer hello = {.id = 0};
    hello.status = sandbox_enter(&s, &hello.flags);
    int rc = packet_send(SANDBOX_SOCKET, &hello, sizeof(hello), NULL, 0);
    if (rc || hello.status)
        return 1;
    while (!rc)
        rc = serve(&c);
    synth_kept_free(&c.kept);
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
        .table = merged_make,
        .names = merged_names,
        .name_index = merged_name_index,
        .jit = jit_names,
        .facts = facts_read,
        .allocators = allocators_read,
        .go_locks = go_locks_read,
        .go_heap = go_heap_read,
        .functions = readable_functions,
        .usdt = usdt_find,
        .lines = merged_lines,
        .links = debug_links_read,
        .synth_identify = synth_identify,
        .synth = synth_table,
        .stretches = synth_stretches,
        .generated = generated_read,
        .attach = runtime_attach,
        .about = runtime_about,
        .runtime_names = runtime_names,
    };
    /* Not through exit(): whatever the libraries registered there would run inside the cell. */
    _exit(parser_child_run(argc, argv, &work));
}
