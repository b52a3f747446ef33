#include "pipeline/heap_files.h"
#include "base/cleanup.h"
#include "opener/hung.h"
#include "opener/opener.h"
#include "pipeline/named_file.h"
#include <errno.h>
#include <string.h>

#define FILE_MS 5000 /* for reading a file */
#define TRIES   3    /* to read a file that could not be, each when it is mapped again */

int heap_files_init(struct heap_files *f, heap_files_read *read, struct hung *hung)
{
    *f = (struct heap_files){.read = read, .hung = hung};
    return opener_new(&f->opener, hung);
}

/* It holds nothing then. */
static void release(struct known_file *known)
{
    xp_cleanup_close(&known->fd);
    known->fd = -1;
    free(known->sites);
    free(known->usdt);
    known->sites = NULL;
    known->usdt = NULL;
}

/* Files that nobody follows are only known so that they need not be read again. */
static void forget_unused(struct heap_files *f)
{
    size_t n = 0;
    for (size_t i = 0; i < f->all.n; i++) {
        struct known_file *known = &f->all.v[i];
        if (!known->users) {
            map_remove(&f->places, known->id);
            release(known);
            continue;
        }
        u64 *place = map_get(&f->places, known->id);
        if (place)
            *place = n + 1;
        f->all.v[n++] = *known;
    }
    f->all.n = n;
}

void heap_files_free(struct heap_files *f)
{
    parser_free(&f->parser);
    opener_free(&f->opener);
    for (size_t i = 0; i < f->all.n; i++)
        release(&f->all.v[i]);
    vec_free(&f->all);
    map_free(&f->places);
}

/* The child of a parser dies with the thread that started it, so it is that of heaps.c. */
static struct parser *parser_of(struct heap_files *f)
{
    struct parser_limits limits = PARSER_LIMITS_DEFAULT;
    limits.timeout_ms = FILE_MS;
    if (!f->parser && !parser_new(&f->parser, &limits))
        parser_set_opener(f->parser, f->opener, f->hung);
    return f->parser;
}

void heap_files_prepare(struct heap_files *f)
{
    if (f->ready)
        return;
    f->ready = true;
    opener_start(f->opener);
    parser_of(f);
}

void heap_files_rest(struct heap_files *f)
{
    if (f->parser)
        parser_rest(f->parser);
    opener_rest(f->opener);
}

static void add_to(u64 *figure, u64 n)
{
    __atomic_add_fetch(figure, n, __ATOMIC_RELAXED);
}

static void count(u64 *figure)
{
    add_to(figure, 1);
}

/* Finds numbers for sites of USDT probes. Returns false: those of other files are too many. */
static bool give_numbers(const struct heap_files *f, struct named_usdt *fresh)
{
    u32 at = 0, before = 1;
    while (before != at && at + fresh->n <= XP_USDT_MAPPED) {
        before = at;
        for (size_t i = 0; i < f->all.n; i++) {
            const struct named_usdt *other = f->all.v[i].usdt;
            if (other && other->first < at + fresh->n && at < other->first + other->n)
                at = other->first + other->n;
        }
    }
    fresh->first = at;
    return at + fresh->n <= XP_USDT_MAPPED;
}

/* Reads a file. What cannot be read is known to have none: it is tried again, as the process may just have ended. */
static void read_file(struct heap_files *f, const struct xp_mapping *m, struct known_file *known)
{
    AUTO_FREE char *path = NULL;
    AUTO_CLOSE int fd = opener_mapping(f->opener, m->tgid, m->start, m->end, &path);
    AUTO_FREE struct allocators *sites = calloc(1, sizeof(*sites));
    AUTO_FREE struct named_usdt *usdt = NULL;
    if (fd >= 0 && f->named && !named_file_is(f->named, path))
        return;
    struct parser *parser = fd < 0 || !sites ? NULL : parser_of(f);
    int rc = !parser    ? -EIO
             : f->named ? named_file_read(parser, fd, f->named, sites, &usdt)
                        : f->read(parser, fd, sites);
    if (f->named && (rc == -ENOENT || rc == -ENOTSUP)) {
        known->without = true;
        count(&f->without);
        return;
    }
    if (usdt && !give_numbers(f, usdt)) {
        add_to(&f->left_out, usdt->n);
        return;
    }
    if (rc && rc != -ENOEXEC && rc != -EBADMSG) {
        count(&f->failed);
        known->closed = ++known->failures < TRIES;
    }
    if (!rc && f->go && parser_go_heap(parser, fd, &known->go))
        known->go.found = 0;
    if (rc || !sites->n)
        return;
    known->fd = TAKE_FD(fd);
    known->sites = TAKE_PTR(sites);
    known->usdt = TAKE_PTR(usdt);
    count(&f->found);
    add_to(&f->left_out, known->sites->left_out);
}

struct known_file *heap_files_find(const struct heap_files *f, u32 id)
{
    const u64 *place = map_get(&f->places, id);
    return place ? &f->all.v[*place - 1] : NULL;
}

/* Returns NULL if there is no room. What is followed keeps its place: its probes are attached through it. */
static struct known_file *add(struct heap_files *f, u32 id)
{
    if (f->all.n >= HEAP_FILES_MAX)
        forget_unused(f);
    struct known_file *known = f->all.n < HEAP_FILES_MAX ? VEC_PUSH(&f->all) : NULL;
    u64 *place = known ? map_put(&f->places, id) : NULL;
    if (!place) {
        f->all.n -= known != NULL;
        return NULL;
    }
    *place = f->all.n;
    *known = (struct known_file){.id = id, .fd = -1};
    return known;
}

struct known_file *heap_files_know(struct heap_files *f, const struct xp_listed *l)
{
    struct known_file *known = heap_files_find(f, l->at.file);
    bool unread = !known || known->closed;
    if (!known)
        known = add(f, l->at.file);
    if (!known) {
        count(&f->failed);
        return NULL;
    }
    known->closed = false;
    known->remote = hung_may(l->magic);
    if (unread && known->remote)
        count(&f->remote);
    else if (unread)
        read_file(f, &l->at, known);
    return known;
}

void heap_files_give(struct heap_files *f, u32 id)
{
    struct known_file *known = heap_files_find(f, id);
    if (!known || !known->users || --known->users)
        return;
    release(known);
    known->closed = true;
}
