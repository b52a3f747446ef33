#include "pipeline/heap_files.h"
#include "base/cleanup.h"
#include "opener/opener.h"
#include <errno.h>
#include <string.h>

#define FILES_MAX 8192 /* known, those without allocators included */
#define FILE_MS   5000 /* for reading a file */

int heap_files_init(struct heap_files *f, heap_files_read *read, struct hung *hung)
{
    *f = (struct heap_files){.read = read, .hung = hung};
    return opener_new(&f->opener, hung);
}

static void forget(struct heap_files *f)
{
    for (size_t i = 0; i < f->all.n; i++) {
        xp_cleanup_close(&f->all.v[i].fd);
        free(f->all.v[i].sites);
    }
    vec_free(&f->all);
    map_free(&f->places);
}

void heap_files_free(struct heap_files *f)
{
    parser_free(&f->parser);
    opener_free(&f->opener);
    forget(f);
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

static void count(u64 *figure)
{
    __atomic_add_fetch(figure, 1, __ATOMIC_RELAXED);
}

/* Reads a file. What cannot be read is known to have none. */
static void read_file(struct heap_files *f, const struct xp_mapping *m, struct known_file *known)
{
    AUTO_FREE char *path = NULL;
    AUTO_CLOSE int fd = opener_mapping(f->opener, m->tgid, m->start, m->end, &path);
    AUTO_FREE struct allocators *sites = calloc(1, sizeof(*sites));
    struct parser *parser = fd < 0 || !sites ? NULL : parser_of(f);
    int rc = parser ? f->read(parser, fd, sites) : -EIO;
    if (rc && rc != -ENOEXEC && rc != -EBADMSG)
        count(&f->failed);
    if (!rc && f->go && parser_go_heap(parser, fd, &known->go))
        known->go.found = 0;
    if (rc || !sites->n)
        return;
    known->fd = TAKE_FD(fd);
    known->sites = TAKE_PTR(sites);
    count(&f->found);
}

struct known_file *heap_files_find(const struct heap_files *f, u32 id)
{
    const u64 *place = map_get(&f->places, id);
    return place ? &f->all.v[*place - 1] : NULL;
}

struct known_file *heap_files_know(struct heap_files *f, const struct xp_mapping *m)
{
    struct known_file *known = heap_files_find(f, m->file);
    if (known && known->closed) {
        known->closed = false;
        read_file(f, m, known);
    }
    if (known)
        return known;
    if (f->all.n >= FILES_MAX)
        forget(f);
    known = VEC_PUSH(&f->all);
    u64 *place = known ? map_put(&f->places, m->file) : NULL;
    if (!place) {
        f->all.n -= known != NULL;
        return NULL;
    }
    *place = f->all.n;
    *known = (struct known_file){.id = m->file, .fd = -1};
    read_file(f, m, known);
    return known;
}

void heap_files_give(struct heap_files *f, u32 id)
{
    struct known_file *known = heap_files_find(f, id);
    if (!known || !known->users || --known->users)
        return;
    xp_cleanup_close(&known->fd);
    known->fd = -1;
    free(known->sites);
    known->sites = NULL;
    known->closed = true;
}
