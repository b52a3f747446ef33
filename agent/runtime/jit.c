/* JIT compilers that write a map of the code that they make (jit_map.h): node, the JVM, CPython and others. Recognised
 * by frames in code of no file, which the kernel side walks by frame pointer.
 */
#include "runtime/runtime.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fs.h"
#include "base/log.h"
#include "base/shares.h"
#include "base/vec.h"
#include "proc/proc.h"
#include "runtime/jit_file.h"
#include <errno.h>
#include <string.h>

/* The processes that were seen to run code of no file. Bounded; one that ended is forgotten when an interval went by
 * without it. */
#define MAX_PROCESSES       1024               /* a descriptor each, two with a jitdump */
#define MAX_SYMBOLS         ((size_t)64 << 20) /* bytes of symbols, of all */
#define MAX_PROCESS_SYMBOLS ((size_t)16 << 20)

struct jit_process {
    u32 tgid;
    u64 start; /* ns since boot */
    struct jit_place place;
    struct buf symbols; /* from its memory */
    size_t last;        /* where the latest ones begin */
    u64 owner;
};
struct entry {
    struct jit_process *process;
    bool used;
};
struct jit_maps {
    struct runtime_reader reader;
    VEC(struct entry) list;
    struct shares symbols; /* bytes of all, by owner */
};

static void *process_new(struct opener *o, u32 tgid, u64 start)
{
    struct jit_process *p = calloc(1, sizeof(*p));
    if (!p)
        return NULL;
    p->tgid = tgid;
    p->start = start;
    if (jit_place_open(o, tgid, start, &p->place)) {
        free(p);
        return NULL;
    }
    return p;
}

static void process_free(void *process)
{
    struct jit_process *p = process;
    jit_place_close(&p->place);
    buf_free(&p->symbols);
    free(p);
}

static int maps_new(void **out, struct runtime_reader reader)
{
    struct jit_maps *j = calloc(1, sizeof(*j));
    if (!j)
        return -ENOMEM;
    j->reader = reader;
    j->symbols.limit = MAX_SYMBOLS;
    *out = j;
    return 0;
}

static void maps_free(void *maps)
{
    struct jit_maps *j = maps;
    for (size_t i = 0; i < j->list.n; i++)
        process_free(j->list.v[i].process);
    vec_free(&j->list);
    shares_free(&j->symbols);
    free(j);
}

static struct entry *find(struct jit_maps *j, u32 tgid, u64 start)
{
    for (size_t i = 0; i < j->list.n; i++)
        if (j->list.v[i].process->tgid == tgid && j->list.v[i].process->start == start)
            return &j->list.v[i];
    return NULL;
}

static void drop_symbols(struct jit_maps *j, struct jit_process *p)
{
    shares_give(&j->symbols, p->owner, p->symbols.len);
    buf_free(&p->symbols);
    p->symbols = (struct buf){0};
    p->last = 0;
}

static void drop(struct jit_maps *j, size_t i)
{
    drop_symbols(j, j->list.v[i].process);
    process_free(j->list.v[i].process);
    memmove(&j->list.v[i], &j->list.v[i + 1], (--j->list.n - i) * sizeof(j->list.v[0]));
}

static void maps_add(void *maps, void *process)
{
    struct jit_maps *j = maps;
    struct jit_process *p = process;
    if (find(j, p->tgid, p->start)) {
        process_free(p);
        return;
    }
    if (j->list.n == MAX_PROCESSES)
        drop(j, 0); /* the one known longest */
    jit_place_look(&p->place, j->reader.opener, p->tgid);
    struct entry *e = VEC_PUSH(&j->list);
    if (e)
        *e = (struct entry){.process = p, .used = true};
    else
        process_free(p);
}

/* Code may be gone before its names are asked for, so that earlier symbols stay; later ones of the same addresses are
 * believed. */
static void maps_symbols(void *maps, u32 tgid, u64 start, u64 owner, const char *text, size_t len)
{
    struct jit_maps *j = maps;
    struct entry *e = find(j, tgid, start);
    struct jit_process *p = e ? e->process : NULL;
    if (!p || (p->symbols.len - p->last == len && !memcmp(p->symbols.data + p->last, text, len)))
        return;
    if (p->symbols.len + len > MAX_PROCESS_SYMBOLS)
        drop_symbols(j, p);
    if (!p->symbols.len)
        p->owner = owner;
    if (!shares_take(&j->symbols, p->owner, len)) {
        log_info("no room for the symbols of JIT code of process %u", tgid);
        return;
    }
    p->last = p->symbols.len;
    buf_add(&p->symbols, text, len);
    if (p->symbols.failed)
        shares_give(&j->symbols, p->owner, len);
}

/* For the reader, which takes no descriptor that can be written to. -1: there are none. */
static int open_symbols(const struct jit_process *p)
{
    AUTO_CLOSE int fd = p->symbols.len ? fs_sealed_memfd("xprof-symbols", p->symbols.data, p->symbols.len) : -1;
    int rc = fd < 0 ? -1 : fs_open_regular(fd);
    return rc < 0 ? -1 : rc;
}

/* The names by the map that the process writes, and by symbols from its memory. */
static int read_names(struct jit_maps *j, struct jit_process *p, const u64 *addresses, size_t n,
                      void (*use)(void *arg, const struct names *names), void *arg)
{
    AUTO_CLOSE int fd = jit_place_map(&p->place, j->reader.opener, p->tgid);
    AUTO_CLOSE int symbols = open_symbols(p);
    int rc = fd < 0 ? fd : j->reader.read(j->reader.ctx, fd, symbols, addresses, n, use, arg);
    return rc && symbols >= 0 ? j->reader.read(j->reader.ctx, symbols, -1, addresses, n, use, arg) : rc;
}

static int maps_names(void *maps, u32 tgid, u64 start, const u64 *addresses, size_t n,
                      void (*use)(void *arg, const struct names *names), void *arg)
{
    struct jit_maps *j = maps;
    struct entry *e = find(j, tgid, start);
    if (!e)
        return -ENOENT;
    e->used = true;
    int rc = read_names(j, e->process, addresses, n, use, arg);
    if (rc && rc != -ENOENT)
        log_info("no names for JIT code of process %u: cannot read its map: %s", tgid, strerror(-rc));
    return rc;
}

static void maps_age(void *maps)
{
    struct jit_maps *j = maps;
    for (size_t i = j->list.n; i--;) {
        struct entry *e = &j->list.v[i];
        if (!e->used && !proc_alive(e->process->tgid))
            drop(j, i);
        else
            e->used = false;
    }
}

/* Does the sample run through code of no file? */
static bool is_jit_sample(const struct xp_sample *s)
{
    for (unsigned i = s->nkernel; i < (unsigned)s->nkernel + s->nuser; i++)
        if (XP_WORD_KIND(s->words[i]) == XP_WORD_ANON)
            return true;
    return false;
}

static const struct runtime_process_ops ops = {.recognise = is_jit_sample,
                                               .open = process_new,
                                               .close = process_free,
                                               .set_new = maps_new,
                                               .set_free = maps_free,
                                               .set_add = maps_add,
                                               .set_symbols = maps_symbols,
                                               .set_names = maps_names,
                                               .set_age = maps_age};

const struct runtime runtime_jit = {.name = "jit", .process = &ops};
