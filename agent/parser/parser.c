/* The parent's side: one request at a time, a deadline, and a new child for a lost one. */
#include "parser/parser.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fs.h"
#include "parser/protocol.h"
#include "parser/spawn.h"
#include "parser/synth_table.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/random.h>

#define START_TIMEOUT_MS 10000 /* of a child to lock itself in: milliseconds, but the machine may be busy */

struct parser {
    struct parser_limits limits;
    const char *role; /* hidden first argument of the child */
    int exe;
    struct child_process child;
    struct start_gate gate;
    bool lost;                 /* the last child did not leave of its own accord: the next start has to pass the gate */
    unsigned starts, restarts; /* restarts: those after a loss */
    u32 id;
    u8 secret[16];
};

/* ---- The child -------------------------------------------------------------------------------------------------- */
/* Waits until the socket has something to read (an end counts). 0, -ETIMEDOUT, -errno. */
static int wait_readable(int sock, unsigned timeout_ms)
{
    uint64_t deadline = now_ns() + timeout_ms * 1000000ull;
    for (;;) {
        uint64_t now = now_ns();
        int left = now < deadline ? (int)((deadline - now + 999999) / 1000000) : 0;
        struct pollfd p = {.fd = sock, .events = POLLIN};
        int r = poll(&p, 1, left);
        if (r > 0)
            return 0;
        if (r < 0 && errno != EINTR)
            return -errno;
        if (r == 0 && !left)
            return -ETIMEDOUT;
    }
}

/* Receives an answer with at most one descriptor. */
static int receive(struct parser *p, unsigned timeout_ms, struct parser_answer *a, int *fd)
{
    int fds[PARSER_MAX_FDS];
    int rc = wait_readable(p->child.socket, timeout_ms);
    if (rc || (rc = packet_recv(p->child.socket, a, sizeof(*a), fds)))
        return rc;
    for (unsigned i = 1; i < PARSER_MAX_FDS; i++)
        xp_cleanup_close(&fds[i]);
    if (fds[1] >= 0) {
        close(fds[0]);
        return -EPROTO;
    }
    *fd = fds[0];
    return 0;
}

/* The greeting comes when the child is locked in, so nothing hostile ever reaches one that is not. */
static int greet(struct parser *p)
{
    struct parser_answer a;
    AUTO_CLOSE int fd = -1;
    int rc = receive(p, START_TIMEOUT_MS, &a, &fd);
    if (rc)
        return rc;
    if (a.id || a.status > 0 || fd >= 0)
        return -EPROTO;
    return a.status;
}

static void wait_at_gate(struct parser *p)
{
    uint64_t wait = start_gate_wait(&p->gate, now_ns());
    struct timespec t = {.tv_sec = (time_t)(wait / NS_PER_SEC), .tv_nsec = (long)(wait % NS_PER_SEC)};
    if (wait)
        nanosleep(&t, NULL);
}

static int start(struct parser *p)
{
    char memory[32], timeout[16];
    snprintf(memory, sizeof(memory), "%zu", p->limits.memory);
    snprintf(timeout, sizeof(timeout), "%u", p->limits.timeout_ms);
    const char *argv[] = {"xprof", p->role, "%d", memory, timeout, NULL};
    if (p->lost)
        wait_at_gate(p);
    bool again = p->lost && p->starts;
    p->lost = true; /* until one has greeted */
    int rc = child_start(p->exe, argv, &p->child);
    if (rc)
        return rc;
    rc = greet(p);
    if (rc) {
        child_kill(&p->child);
        return rc;
    }
    p->lost = false;
    p->starts++;
    p->restarts += again;
    return 0;
}

/* A child that is there and silent: one that left or spoke unasked between two requests costs nobody a file. */
static int ensure_child(struct parser *p)
{
    struct pollfd idle = {.fd = p->child.socket, .events = POLLIN};
    if (p->child.pid && poll(&idle, 1, 0) == 0)
        return 0;
    p->lost |= p->child.pid != 0;
    child_kill(&p->child);
    return start(p) ? -ECHILD : 0;
}

int parser_new_as(struct parser **out, const struct parser_limits *limits, const char *role)
{
    CLEANUP(parser_free) struct parser *p = calloc(1, sizeof(*p));
    if (!p)
        return -ENOMEM;
    p->limits = *limits;
    p->role = role;
    p->child = (struct child_process)CHILD_PROCESS_NONE;
    p->exe = child_open_self();
    if (p->exe < 0)
        return p->exe;
    if (getrandom(p->secret, sizeof(p->secret), 0) != sizeof(p->secret))
        return -EIO;
    int rc = start(p);
    if (rc)
        return rc;
    *out = TAKE_PTR(p);
    return 0;
}

int parser_new(struct parser **out, const struct parser_limits *limits)
{
    return parser_new_as(out, limits, PARSER_CHILD_ARG);
}

void parser_free(struct parser **p)
{
    if (!*p)
        return;
    child_kill(&(*p)->child);
    xp_cleanup_close(&(*p)->exe);
    free(*p);
    *p = NULL;
}

/* ---- Requests --------------------------------------------------------------------------------------------------- */
/* A child that left between two requests is not the file's fault: one more try with a new one. */
static int send_request(struct parser *p, struct parser_request *rq, const int *fds, unsigned nfds)
{
    int rc = -EPIPE;
    for (int try = 0; rc == -EPIPE && try < 2; try++) {
        rc = ensure_child(p);
        if (rc)
            return rc;
        rq->id = ++p->id ? p->id : ++p->id;
        memcpy(rq->secret, p->secret, sizeof(rq->secret));
        rc = packet_send(p->child.socket, rq, sizeof(*rq), fds, nfds);
    }
    return rc;
}

static bool is_loss(int rc)
{
    return rc == -EPIPE || rc == -ETIMEDOUT || rc == -EPROTO;
}

/* Somebody's file that the child may have, but not write to. 0 or -errno. */
static int check_readable(int fd)
{
    int mode = fcntl(fd, F_GETFL);
    if (mode < 0)
        return -errno;
    return (mode & O_PATH) || (mode & O_ACCMODE) != O_RDONLY ? -EINVAL : 0;
}

/* Gives the child a file that it wants, or the reason why not. 0, -EPROTO, -EPIPE, -errno. */
static int give(struct parser *p, const struct parser_request *rq, const struct dwarf_fds *files,
                const struct parser_answer *a, int text)
{
    struct parser_want want = {0};
    struct parser_request answer = {.id = rq->id, .op = PARSER_GIVE};
    int rc = want_check(rq, a, text, &want);
    if (rc)
        return rc;
    AUTO_CLOSE int fd = files && files->dwo ? files->dwo(files->ctx, want.dir, want.name) : -ENOENT;
    parser_reply_free(&want.bytes);
    rc = fd < 0 ? fd : check_readable(fd);
    answer.n = (u64)-rc;
    answer.slots = rc ? 0 : 1 << SLOT_FILE;
    return packet_send(p->child.socket, &answer, sizeof(answer), &fd, !rc);
}

static u64 patience_ms(const struct parser *p, u32 op)
{
    return op == PARSER_SYNTH ? PARSER_SYNTH_MS
                              : p->limits.timeout_ms * (op == PARSER_LINES ? PARSER_LINES_PATIENCE : 1ull);
}

/* The answer, after all that the child wants before. */
static int await_answer(struct parser *p, const struct parser_request *rq, const struct dwarf_fds *files,
                        struct parser_answer *a, int *fd)
{
    u64 deadline = now_ns() + patience_ms(p, rq->op) * 1000000;
    int rc = 0;
    for (unsigned wants = 0; !rc; wants++) {
        AUTO_CLOSE int got = -1;
        u64 now = now_ns();
        rc = now < deadline ? receive(p, (unsigned)((deadline - now) / 1000000) + 1, a, &got) : -ETIMEDOUT;
        if (!rc && !(a->flags & PARSER_WANTS)) {
            *fd = TAKE_FD(got);
            return 0;
        }
        if (!rc)
            rc = wants < PARSER_MAX_WANTS ? give(p, rq, files, a, got) : -EPROTO;
    }
    return rc;
}

/* The whole exchange; slot SLOT_FILE is the file. Outputs may be NULL where the operation has none. */
static int ask(struct parser *p, struct parser_request *rq, const struct parser_slots *slots,
               const struct dwarf_fds *files, struct parser_answer *a, struct parser_reply *out, struct names *view)
{
    AUTO_CLOSE int fd = -1;
    int fds[PARSER_MAX_FDS], rc = check_readable(slots->fd[SLOT_FILE]);
    unsigned nfds = 0;
    for (unsigned i = 0; !rc && i < PARSER_MAX_FDS; i++) {
        if (slots->fd[i] < 0)
            continue;
        if (i >= SLOT_SYMBOLS) /* the others are ours */
            rc = check_readable(slots->fd[i]);
        rq->slots |= 1u << i;
        fds[nfds++] = slots->fd[i];
    }
    if (!rc)
        rc = send_request(p, rq, fds, nfds);
    if (rc)
        return rc;
    rc = await_answer(p, rq, files, a, &fd);
    bool answered = !rc;
    if (answered)
        rc = answer_check(rq, a, fd, out, view);
    p->lost = !answered || rc == -EPROTO;
    if (p->lost || (a->flags & PARSER_LAST))
        child_kill(&p->child); /* never asked again: what it may still send is nobody's answer */
    return answered || is_loss(rc) ? rc : -EPIPE;
}

/* An operation that needs nothing but the file. */
static int ask_about(struct parser *p, struct parser_request *rq, int fd, struct parser_answer *a,
                     struct parser_reply *out)
{
    struct parser_slots slots = PARSER_SLOTS_NONE;
    slots.fd[SLOT_FILE] = fd;
    return ask(p, rq, &slots, NULL, a, out, NULL);
}

static int ask_key(struct parser *p, enum parser_op op, int fd, struct table_key *out)
{
    struct parser_request rq = {.op = op};
    struct parser_answer a;
    int rc = ask_about(p, &rq, fd, &a, NULL);
    if (!rc)
        *out = a.key;
    return rc;
}

int parser_identify(struct parser *p, int fd, struct table_key *out)
{
    return ask_key(p, PARSER_IDENTIFY, fd, out);
}

int parser_synth_identify(struct parser *p, int fd, struct table_key *out)
{
    return ask_key(p, PARSER_SYNTH_IDENTIFY, fd, out);
}

int parser_synth(struct parser *p, int fd, const struct table_key *key, struct parser_synth *out)
{
    struct parser_request rq = {.op = PARSER_SYNTH, .n = key != NULL};
    struct parser_answer a;
    struct parser_synth found = {0};
    if (key)
        rq.key = *key;
    int rc = ask_about(p, &rq, fd, &a, &found.bytes);
    if (rc)
        return rc;
    synth_reply_open(found.bytes.data, found.bytes.len, &found); /* sound: answer_check has looked */
    *out = found;
    return 0;
}

int parser_table(struct parser *p, int fd, const struct table_key *key, struct parser_reply *out)
{
    struct parser_request rq = {.op = PARSER_TABLE, .key = *key};
    struct parser_answer a;
    return ask_about(p, &rq, fd, &a, out);
}

int parser_links(struct parser *p, int fd, bool crc, struct debug_links *out)
{
    struct parser_request rq = {.op = PARSER_LINKS, .n = crc};
    CLEANUP(parser_reply_free) struct parser_reply reply = {0};
    struct parser_answer a;
    int rc = ask_about(p, &rq, fd, &a, &reply);
    if (!rc)
        memcpy(out, reply.data, sizeof(*out));
    return rc;
}

int parser_facts(struct parser *p, int fd, struct facts *out)
{
    struct parser_request rq = {.op = PARSER_FACTS};
    CLEANUP(parser_reply_free) struct parser_reply reply = {0};
    struct parser_answer a;
    int rc = ask_about(p, &rq, fd, &a, &reply);
    if (!rc)
        memcpy(out, reply.data, sizeof(*out));
    return rc;
}

int parser_lines(struct parser *p, const struct dwarf_fds *files, struct parser_reply *out)
{
    struct parser_request rq = {.op = PARSER_LINES};
    struct parser_answer a;
    struct parser_slots slots = PARSER_SLOTS_NONE;
    slots.fd[SLOT_FILE] = files->file;
    slots.fd[SLOT_DEBUG] = files->debug;
    slots.fd[SLOT_ALT] = files->alt;
    slots.fd[SLOT_DWP] = files->dwp;
    return ask(p, &rq, &slots, files, &a, out, NULL);
}

static int ask_names(struct parser *p, enum parser_op op, const struct names_fds *files, const u64 *offsets, size_t n,
                     struct parser_reply *out, struct names *view)
{
    struct parser_request rq = {.op = op, .n = n, .short_names = files->short_names};
    struct parser_answer a;
    struct parser_slots slots = PARSER_SLOTS_NONE;
    if (n > PARSER_MAX_OFFSETS)
        return -E2BIG;
    AUTO_CLOSE int memfd = fs_sealed_memfd("xprof-offsets", offsets, n * sizeof(*offsets));
    if (memfd < 0)
        return memfd;
    slots.fd[SLOT_FILE] = files->file;
    slots.fd[SLOT_OFFSETS] = memfd;
    slots.fd[SLOT_INDEX] = files->index;
    slots.fd[SLOT_SYMBOLS] = files->symbols;
    return ask(p, &rq, &slots, NULL, &a, out, view);
}

int parser_names(struct parser *p, const struct names_fds *files, const u64 *offsets, size_t n,
                 struct parser_reply *out, struct names *view)
{
    return ask_names(p, PARSER_NAMES, files, offsets, n, out, view);
}

int parser_jit(struct parser *p, int fd, const u64 *addresses, size_t n, struct parser_reply *out, struct names *view)
{
    struct names_fds files = NAMES_FDS_OF(fd);
    return ask_names(p, PARSER_JIT, &files, addresses, n, out, view);
}

/* ---- For tests and the summary ---------------------------------------------------------------------------------- */
pid_t parser_pid(const struct parser *p)
{
    return p->child.pid;
}

unsigned parser_restarts(const struct parser *p)
{
    return p->restarts;
}

void parser_rest(struct parser *p)
{
    child_kill(&p->child);
}

void parser_set_secret(struct parser *p, const u8 secret[16])
{
    memcpy(p->secret, secret, sizeof(p->secret));
}
