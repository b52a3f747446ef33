#include "inspect/address_space_internal.h"
#include "base/cleanup.h"
#include "base/fs.h"
#include "base/map.h"
#include "base/vec.h"
#include "cfi/table.h"
#include "generated/generated.h"
#include "parser/parser.h"
#include "parser/synth_table.h"
#include "proc/proc.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#define MAX_MAPS  ((size_t)64 << 20) /* bytes of /proc/PID/maps: 65,530 mappings are 10 MB */
#define MAX_TRIES 64                 /* tables of a file with more and more stretches */

/* ---- Mappings --------------------------------------------------------------------------------------------------- */

static u32 open_file(struct address_space *s, u64 start, u64 end, const char *name)
{
    AUTO_FREE char *path = NULL;
    if (!strcmp(name, "[vdso]"))
        return XP_FILE_VDSO;
    AUTO_CLOSE int place = proc_open_mapping(s->tid, start, end, &path);
    int fd = place < 0 ? place : fs_open_regular(place);
    if (fd >= 0)
        return binaries_add(s->binaries, fd, path, s->tid);
    if (name[0] == '/' && fd != -ENOEXEC) {
        s->unopened++;
        s->open_error = fd;
    }
    return 0;
}

/* Code that is written through another mapping of the same memory: of no file (bpf/file.bpf.h, xp_is_generated). */
static bool is_generated(const char *prot, const char *name)
{
    static const char gone[] = " (deleted)";
    size_t len = strlen(name), tail = sizeof(gone) - 1;
    return prot[3] == 's' && len >= tail && !strcmp(name + len - tail, gone);
}

static int add_mapping(struct address_space *s, const char *line)
{
    unsigned long long start, end, offset;
    char prot[8];
    int name = 0;
    if (sscanf(line, "%llx-%llx %7s %llx %*s %*u %n", &start, &end, prot, &offset, &name) < 4 || prot[2] != 'x' ||
        !name || !strcmp(line + name, "[vsyscall]"))
        return 0;
    struct xp_vma *m = VEC_PUSH(&s->vmas);
    if (!m)
        return -ENOMEM;
    *m = (struct xp_vma){.start = start, .end = end, .bias = start - offset, .file.state = XP_FILE_FP};
    u32 id = line[name] && !is_generated(prot, line + name) ? open_file(s, start, end, line + name) : 0;
    if (id)
        m->file = (struct xp_file){.id = id, .state = XP_FILE_PENDING};
    return 0;
}

static int read_maps(u32 tid, char **out)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%u/maps", tid);
    int rc = fs_read_file(path, MAX_MAPS, out, NULL);
    return rc == -ENOENT ? -ESRCH : rc;
}

/* The memory is the threads': when the first one has ended, the process is seen without any, and the others have it. */
static int read_maps_of_any(struct address_space *s, char **out)
{
    char path[64];
    int rc = read_maps(s->tid = s->tgid, out);
    if (rc || **out)
        return rc;
    snprintf(path, sizeof(path), "/proc/%u/task", s->tgid);
    DIR *threads = opendir(path);
    for (struct dirent *e; threads && !**out && (e = readdir(threads));) {
        char *text = NULL;
        u32 tid = (u32)strtoul(e->d_name, NULL, 10);
        if (!tid || read_maps(tid, &text))
            continue;
        free(*out);
        *out = text;
        s->tid = tid;
    }
    if (threads)
        closedir(threads);
    return 0;
}

static int read_mappings(struct address_space *s)
{
    AUTO_FREE char *text = NULL;
    int rc = read_maps_of_any(s, &text);
    for (char *line = text, *next; line && *line && !rc; line = next) {
        next = strchr(line, '\n');
        if (next)
            *next++ = 0;
        rc = add_mapping(s, line);
    }
    return rc;
}

int address_space_new(struct address_space **out, struct binaries *binaries, u32 tgid)
{
    struct address_space *s = calloc(1, sizeof(*s));
    if (!s)
        return -ENOMEM;
    s->tgid = tgid;
    s->binaries = binaries;
    int rc = VEC_RESERVE(&s->rules, XP_MAX_RULES) ? -ENOMEM : read_mappings(s);
    if (rc)
        address_space_free(&s);
    else
        *out = s;
    return rc;
}

void address_space_free(struct address_space **s)
{
    if (!*s)
        return;
    vec_free(&(*s)->vmas);
    vec_free(&(*s)->words);
    vec_free(&(*s)->rules);
    map_free(&(*s)->rule_ids);
    map_free(&(*s)->whole);
    free(TAKE_PTR(*s));
}

const struct xp_vma *address_space_mappings(const struct address_space *s, size_t *n)
{
    *n = s->vmas.n;
    return s->vmas.v;
}

size_t address_space_unopened(const struct address_space *s, int *error)
{
    *error = s->open_error;
    return s->unopened;
}

/* ---- Tables ----------------------------------------------------------------------------------------------------- */

static u32 rule_id(struct address_space *s, const struct xp_rule *r)
{
    u64 key;
    memcpy(&key, r, sizeof(key));
    u64 *id = map_put(&s->rule_ids, key);
    if (!id || (!*id && s->nrules == XP_MAX_RULES))
        return XP_MAX_RULES;
    if (!*id) {
        s->rules.v[s->nrules++] = *r;
        *id = s->nrules;
    }
    return (u32)*id - 1;
}

/* A table that lies behind all others gives way to that which takes its place. */
static void drop_last(struct address_space *s, u32 id)
{
    for (size_t i = 0; i < s->vmas.n; i++) {
        const struct xp_file *f = &s->vmas.v[i].file;
        if (f->id == id && f->state == XP_FILE_READY && s->words.v[f->index + f->nblocks] == s->words.n) {
            s->words.n = f->index;
            return;
        }
    }
}

int address_space_load(struct address_space *s, const struct xp_table *t, struct xp_file *f)
{
    const u32 *index = table_index(t), *rows = table_rows(t);
    AUTO_FREE u32 *number = calloc(t->nrules + 1, sizeof(*number));
    u32 at = (u32)s->words.n, first = at + t->nblocks + 1;
    if (!number || VEC_RESERVE(&s->words, (size_t)first + t->nrows))
        return -ENOMEM;
    for (u32 i = 0; i < t->nrules; i++)
        if ((number[i] = rule_id(s, &table_rules(t)[i])) == XP_MAX_RULES)
            return -ENOSPC;
    for (u32 i = 0; i <= t->nblocks; i++)
        s->words.v[at + i] = first + index[i];
    for (u32 i = 0; i < t->nrows; i++)
        s->words.v[first + i] = (rows[i] & 0xffff) | number[rows[i] >> 16] << 16;
    s->words.n = (size_t)first + t->nrows;
    *f = (struct xp_file){.id = f->id,
                          .state = t->nblocks ? XP_FILE_READY : XP_FILE_FP,
                          .uid = ++s->uids,
                          .flags = t->flags,
                          .nblocks = t->nblocks,
                          .lo = t->lo,
                          .index = at};
    return 0;
}

static void set_file(struct address_space *s, const struct xp_file *f)
{
    for (size_t i = 0; i < s->vmas.n; i++)
        if (s->vmas.v[i].file.id == f->id)
            s->vmas.v[i].file = *f;
}

static void fetch(struct address_space *s, u32 id)
{
    const struct xp_table *table;
    struct xp_file f = {.id = id};
    int rc = binaries_table(s->binaries, id, &table);
    if (!rc)
        rc = address_space_load(s, table, &f);
    if (rc)
        f.state = rc == -ENOEXEC ? XP_FILE_FP : rc == -ENOSPC || rc == -ENOMEM ? XP_FILE_NO_ROOM : XP_FILE_FAILED;
    set_file(s, &f);
}

static bool is_pending(const struct address_space *s, u32 id)
{
    for (size_t i = 0; id && i < s->vmas.n; i++)
        if (s->vmas.v[i].file.id == id)
            return s->vmas.v[i].file.state == XP_FILE_PENDING;
    return false;
}

/* Fetches the tables of the files that the stack went through without one. False: there was none. */
static bool fetch_missing(struct address_space *s, const struct xp_state *state)
{
    bool fetched = false;
    for (u32 i = 0; i <= state->sample.nuser; i++) {
        u64 word = i < state->sample.nuser ? state->words[i] : 0;
        u32 id = i == state->sample.nuser             ? state->cur.file.id
                 : XP_WORD_KIND(word) == XP_WORD_ANON ? 0
                                                      : XP_WORD_FILE(word);
        if (is_pending(s, id)) {
            fetch(s, id);
            fetched = true;
        }
    }
    return fetched;
}

/* The offsets of a file's code that the stack leads to from where it stopped. */
static size_t list_offsets(const struct xp_state *state, const struct host_space *space, u64 out[HOST_CHAIN_MAX + 1])
{
    u32 id = state->cur.file.id;
    u64 last = state->words[state->sample.nuser - 1];
    size_t n = 0;
    if (XP_WORD_KIND(last) != XP_WORD_ANON && XP_WORD_FILE(last) == id)
        out[n++] = XP_WORD_OFFSET(last) - !(last & XP_WORD_EXACT);
    return n + host_chain(space, state, id, out + n);
}

static int fetch_stretches(struct address_space *s, const struct xp_state *state, const struct host_space *space,
                           const struct xp_table **out)
{
    const struct parser_synth *made;
    u64 offsets[HOST_CHAIN_MAX + 1];
    size_t n = list_offsets(state, space, offsets);
    int rc = binaries_stretches(s->binaries, state->cur.file.id, offsets, n, &made);
    if (!rc)
        *out = made->table;
    return rc || made->table ? rc : -ENODATA;
}

/* The stack stopped in code without unwind information: rows for it. False: there are no more of them. */
static bool fetch_whole(struct address_space *s, const struct xp_state *state, const struct host_space *space)
{
    const struct xp_table *table;
    struct xp_file f = {.id = state->cur.file.id};
    bool in_gap = state->cause == XP_CAUSE_NO_RULE || state->cause == XP_CAUSE_FP_BROKEN;
    u64 *tried = in_gap && f.id && state->sample.nuser ? map_put(&s->whole, f.id) : NULL;
    if (!tried || *tried == MAX_TRIES)
        return false;
    int rc = binaries_whole_table(s->binaries, f.id, &table);
    *tried = rc == -E2BIG ? *tried + 1 : MAX_TRIES;
    if (rc == -E2BIG)
        rc = fetch_stretches(s, state, space, &table);
    if (rc)
        return false;
    size_t before = s->words.n;
    drop_last(s, f.id);
    if (address_space_load(s, table, &f)) {
        s->words.n = before;
        return false;
    }
    set_file(s, &f);
    return true;
}

/* ---- Unwinding -------------------------------------------------------------------------------------------------- */

int address_space_read(void *space, void *to, u32 len, u64 from)
{
    const struct address_space *s = space;
    struct iovec local = {to, len}, remote = {(void *)(uintptr_t)from, len};
    return process_vm_readv((pid_t)s->tid, &local, 1, &remote, 1, 0) != (ssize_t)len;
}

struct reading {
    const struct address_space *s;
    int (*read)(void *ctx, void *to, u32 len, u64 from); /* of the stack */
    void *ctx;
};

static int read_stack(void *ctx, void *to, u32 len, u64 from)
{
    const struct reading *r = ctx;
    return r->read(r->ctx, to, len, from);
}

/* Of a thread that runs, only its stack was copied: what a virtual machine has elsewhere is read now. */
static int read_both(void *ctx, void *to, u32 len, u64 from)
{
    const struct reading *r = ctx;
    if (!read_stack(ctx, to, len, from))
        return 0;
    return !r->s->machine.kind || address_space_read((void *)r->s, to, len, from);
}

/* Of a thread that ran, the frames of Python are others by now. */
static const struct xp_machine *machine_for(const struct address_space *s,
                                            int (*read)(void *ctx, void *to, u32 len, u64 from))
{
    bool known = s->machine.kind == XP_MACHINE_JVM || (s->machine.kind && read == address_space_read);
    return known ? &s->machine : NULL;
}

void address_space_unwind(struct address_space *s, const struct xp_regs *regs, u64 fs_base,
                          int (*read)(void *ctx, void *to, u32 len, u64 from), void *ctx, struct xp_state *state)
{
    struct host_space space;
    struct reading both = {.s = s, .read = read, .ctx = ctx};
    do {
        space = (struct host_space){.words = s->words.v,
                                    .nwords = (u32)s->words.n,
                                    .rules = s->rules.v,
                                    .vmas = s->vmas.v,
                                    .nvmas = s->vmas.n,
                                    .tls = fs_base,
                                    .machine = machine_for(s, read),
                                    .read = read_both,
                                    .read_stack = read_stack,
                                    .ctx = &both};
        host_unwind(&space, regs, state);
    } while (fetch_missing(s, state) || address_space_fetch_code(s, state) || fetch_whole(s, state, &space));
}
