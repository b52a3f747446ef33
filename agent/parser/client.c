/* The parent's side: one request at a time, a deadline, and a new child for a lost one (client_child.c). */
#include "parser/client_internal.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fs.h"
#include "parser/synth_table.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/random.h>

/* ---- Life ------------------------------------------------------------------------------------------------------- */

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
    int rc = client_start(p);
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
    client_end_child(*p);
    xp_cleanup_close(&(*p)->exe);
    free(*p);
    *p = NULL;
}

/* ---- Requests --------------------------------------------------------------------------------------------------- */
/* What has to be opened is opened and sent by somebody else. */
static int send_packet(struct parser *p, const struct parser_request *rq, const int *fds, unsigned nfds)
{
    unsigned paths = 0;
    for (unsigned i = 0; i < nfds; i++)
        paths += fs_is_path(fds[i]);
    return paths ? opener_send(p->opener, p->child.socket, rq, sizeof(*rq), fds, nfds)
                 : packet_send(p->child.socket, rq, sizeof(*rq), fds, nfds);
}

/* A child that left between two requests is not the file's fault: one more try with a new one. */
static int send_request(struct parser *p, struct parser_request *rq, const int *fds, unsigned nfds)
{
    int rc = -EPIPE;
    for (int try = 0; rc == -EPIPE && try < 2; try++) {
        rc = client_ensure_child(p);
        if (rc)
            return rc;
        rq->id = ++p->id ? p->id : ++p->id;
        memcpy(rq->secret, p->secret, sizeof(rq->secret));
        rc = send_packet(p, rq, fds, nfds);
    }
    if (rc == -EREMOTEIO)
        client_end_child(p); /* it may have got the request */
    return rc == -ENOTSUP ? -ENOEXEC : rc;
}

static bool is_loss(int rc)
{
    return rc == -EPIPE || rc == -ETIMEDOUT || rc == -EREMOTEIO || rc == -EPROTO;
}

/* Somebody's file that the child may have, but not write to. 0 or -errno. */
static int check_readable(int fd)
{
    int mode = fcntl(fd, F_GETFL);
    if (mode < 0)
        return -errno;
    return (mode & O_ACCMODE) != O_RDONLY ? -EINVAL : 0;
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
    rc = send_packet(p, &answer, &fd, !rc);
    if (!rc || rc == -EPIPE || rc == -EREMOTEIO)
        return rc;
    answer.n = (u64)-rc;
    answer.slots = 0;
    return send_packet(p, &answer, NULL, 0);
}

static u64 patience_ms(const struct parser *p, u32 op)
{
    return op == PARSER_SYNTH || op == PARSER_STRETCHES
               ? PARSER_SYNTH_MS
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
        rc = now < deadline ? client_receive(p, (unsigned)((deadline - now) / 1000000) + 1, a, &got) : -ETIMEDOUT;
        if (!rc && !(a->flags & PARSER_WANTS)) {
            *fd = TAKE_FD(got);
            return 0;
        }
        if (!rc)
            rc = wants < PARSER_MAX_WANTS ? give(p, rq, files, a, got) : -EPROTO;
    }
    return rc;
}

int client_ask(struct parser *p, struct parser_request *rq, const struct parser_slots *slots,
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
        client_end_child(p); /* never asked again: what it may still send is nobody's answer */
    return answered || is_loss(rc) ? rc : -EPIPE;
}

/* An operation that needs nothing but the file. */
static int ask_about(struct parser *p, struct parser_request *rq, int fd, struct parser_answer *a,
                     struct parser_reply *out)
{
    struct parser_slots slots = PARSER_SLOTS_NONE;
    slots.fd[SLOT_FILE] = fd;
    return client_ask(p, rq, &slots, NULL, a, out, NULL);
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

int parser_stretches(struct parser *p, int fd, int image, const u32 *wanted, size_t n, struct parser_synth *out)
{
    struct parser_request rq = {.op = PARSER_STRETCHES, .n = n};
    struct parser_answer a;
    struct parser_slots slots = PARSER_SLOTS_NONE;
    struct parser_synth found = {0};
    if (n > PARSER_MAX_STRETCHES)
        return -E2BIG;
    AUTO_CLOSE int memfd = fs_sealed_memfd("xprof-stretches", wanted, n * sizeof(*wanted));
    if (memfd < 0)
        return memfd;
    slots.fd[SLOT_FILE] = fd;
    slots.fd[SLOT_OFFSETS] = memfd;
    slots.fd[SLOT_INDEX] = image;
    int rc = client_ask(p, &rq, &slots, NULL, &a, &found.bytes, NULL);
    if (rc)
        return rc;
    synth_reply_open(found.bytes.data, found.bytes.len, &found); /* sound, as above */
    *out = found;
    return 0;
}

int parser_table(struct parser *p, int fd, const struct table_key *key, struct parser_reply *out)
{
    struct parser_request rq = {.op = PARSER_TABLE, .key = *key};
    struct parser_answer a;
    return ask_about(p, &rq, fd, &a, out);
}

/* Asks for an answer of `size` bytes. */
static int ask_for(struct parser *p, struct parser_request rq, int fd, void *out, size_t size)
{
    CLEANUP(parser_reply_free) struct parser_reply reply = {0};
    struct parser_answer a;
    int rc = ask_about(p, &rq, fd, &a, &reply);
    if (!rc)
        memcpy(out, reply.data, size);
    return rc;
}

int parser_links(struct parser *p, int fd, bool crc, struct debug_links *out)
{
    return ask_for(p, (struct parser_request){.op = PARSER_LINKS, .n = crc}, fd, out, sizeof(*out));
}

int parser_facts(struct parser *p, int fd, struct facts *out)
{
    return ask_for(p, (struct parser_request){.op = PARSER_FACTS}, fd, out, sizeof(*out));
}

static int ask_for_sites(struct parser *p, enum parser_op op, int fd, struct allocators *out)
{
    return ask_for(p, (struct parser_request){.op = op}, fd, out, sizeof(*out));
}

int parser_allocators(struct parser *p, int fd, struct allocators *out)
{
    return ask_for_sites(p, PARSER_ALLOCATORS, fd, out);
}

int parser_go_locks(struct parser *p, int fd, struct allocators *out)
{
    return ask_for_sites(p, PARSER_GO_LOCKS, fd, out);
}

int parser_go_heap(struct parser *p, int fd, struct go_heap *out)
{
    return ask_for(p, (struct parser_request){.op = PARSER_GO_HEAP}, fd, out, sizeof(*out));
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
    return client_ask(p, &rq, &slots, files, &a, out, NULL);
}

int parser_name_index(struct parser *p, const struct names_fds *files, struct parser_reply *out)
{
    struct parser_request rq = {.op = PARSER_NAME_INDEX};
    struct parser_answer a;
    struct parser_slots slots = PARSER_SLOTS_NONE;
    slots.fd[SLOT_FILE] = files->file;
    slots.fd[SLOT_SYMBOLS] = files->symbols;
    return client_ask(p, &rq, &slots, NULL, &a, out, NULL);
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
    slots.fd[SLOT_NAMES] = files->names;
    return client_ask(p, &rq, &slots, NULL, &a, out, view);
}

int parser_names(struct parser *p, const struct names_fds *files, const u64 *offsets, size_t n,
                 struct parser_reply *out, struct names *view)
{
    return ask_names(p, PARSER_NAMES, files, offsets, n, out, view);
}

int parser_jit(struct parser *p, int fd, int symbols, const u64 *addresses, size_t n, struct parser_reply *out,
               struct names *view)
{
    struct names_fds files = NAMES_FDS_OF(fd);
    files.symbols = symbols;
    return ask_names(p, PARSER_JIT, &files, addresses, n, out, view);
}

int parser_jit_read(void *parser, int fd, int symbols, const u64 *addresses, size_t n,
                    void (*use)(void *arg, const struct names *names), void *arg)
{
    struct parser_reply reply = {0};
    struct names view;
    int rc = parser_jit(parser, fd, symbols, addresses, n, &reply, &view);
    if (!rc)
        use(arg, &view);
    parser_reply_free(&reply);
    return rc;
}

/* ---- For tests and the summary ---------------------------------------------------------------------------------- */
pid_t parser_pid(const struct parser *p)
{
    return __atomic_load_n(&p->clock.pid, __ATOMIC_RELAXED);
}

unsigned parser_layers(const struct parser *p)
{
    return __atomic_load_n(&p->layers, __ATOMIC_RELAXED);
}

unsigned parser_restarts(const struct parser *p)
{
    return __atomic_load_n(&p->restarts, __ATOMIC_RELAXED);
}

void parser_rest(struct parser *p)
{
    client_end_child(p);
}

void parser_set_opener(struct parser *p, struct opener *opener, struct hung *hung)
{
    p->opener = opener;
    p->hung = hung;
}

void parser_set_secret(struct parser *p, const u8 secret[16])
{
    memcpy(p->secret, secret, sizeof(p->secret));
}
