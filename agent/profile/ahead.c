#include "profile/ahead.h"
#include "profile/frames.h"
#include "profile/text.h"
#include <stdlib.h>
#include <string.h>

#define SHOWN        5
#define PATH_FRAMES  3
#define PATHS_MOST   4096
#define WORTH        256 /* pages in vain: less is not worth a line */
#define WORTH_SHARE  4   /* nor is less than this part of what came */
#define NAME_COLUMNS 60
#define PAGES_PER_MB 256.0

enum { USED, UNUSED, UNJUDGED }; /* values of the kind */

/* Whose idea it was to read. */
enum how { BY_READ, BY_FAULT, BY_ADVICE, HOWS };
static const char *const remedies[HOWS] = {
    "posix_fadvise(POSIX_FADV_RANDOM) would save them",
    "madvise(MADV_RANDOM) would save them",
    "the program asks for them (posix_fadvise, madvise or readahead)",
};

struct path {
    u32 name[PATH_FRAMES]; /* the innermost one first; 0: there is none */
    enum how how;
    u64 unused, came;
};
typedef VEC(struct path) paths;

static bool begins_with_any(const char *name, const char *const *all, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!strncmp(name, all[i], strlen(all[i])))
            return true;
    return false;
}

/* By the functions of the kernel; if those have no names, it is taken for a read. */
static enum how how_of(const struct profile *p, const struct frames *f)
{
    static const char *const advice[] = {"generic_fadvise", "madvise_willneed", "ksys_readahead", "force_page_cache_"};
    enum how how = BY_READ;
    for (size_t i = 0; i < f->n; i++) {
        const char *name = f->v[i].kind == FRAME_KERNEL ? frame_text(p, f->v[i].name) : "";
        if (begins_with_any(name, advice, sizeof(advice) / sizeof(*advice)))
            return BY_ADVICE;
        if (!strncmp(name, "filemap_fault", strlen("filemap_fault")))
            how = BY_FAULT;
    }
    return how;
}

static struct path path_of(const struct profile *p, const struct prof_stack *s, const struct frames *f)
{
    struct path path = {.how = how_of(p, f), .unused = s->value[UNUSED]};
    for (size_t i = f->n, n = 0; i-- > 1 && n < PATH_FRAMES;)           /* 0 is the process */
        if (f->v[i].kind != FRAME_KERNEL && f->v[i].kind != FRAME_WAIT) /* the file system */
            path.name[n++] = f->v[i].name;
    path.came = s->value[USED] + s->value[UNUSED] + s->value[UNJUDGED];
    return path;
}

static void add(paths *all, const struct path *path)
{
    for (size_t i = 0; i < all->n; i++) {
        struct path *other = &all->v[i];
        if (other->how != path->how || memcmp(other->name, path->name, sizeof(path->name)) != 0)
            continue;
        other->unused += path->unused;
        other->came += path->came;
        return;
    }
    struct path *place = all->n < PATHS_MOST ? VEC_PUSH(all) : NULL;
    if (place)
        *place = *path;
}

static void collect(const struct profile *p, paths *all)
{
    struct frames frames = {0};
    for (size_t i = 0; i < p->stacks.n; i++) {
        const struct prof_stack *s = &p->stacks.v[i];
        if (strcmp(p->events[s->event]->name, "readahead") != 0 || frames_of(p, s, &frames))
            continue;
        struct path path = path_of(p, s, &frames);
        add(all, &path);
    }
    vec_free(&frames);
}

static int most_first(const void *x, const void *y)
{
    const struct path *a = x, *b = y;
    return a->unused != b->unused ? (a->unused > b->unused ? -1 : 1) : memcmp(a->name, b->name, sizeof(a->name));
}

static void put_path(const struct profile *p, const struct path *path, struct buf *out)
{
    for (size_t i = PATH_FRAMES; i-- > 0;) {
        AUTO_BUF struct buf name = {0};
        if (!path->name[i])
            continue;
        text_clean(&name, frame_text(p, path->name[i]), 0, 0);
        text_cut(&name, NAME_COLUMNS);
        buf_printf(out, "%s%s", name.data ? name.data : "", i ? ";" : "");
    }
}

static void put_line(const struct profile *p, const struct path *path, struct buf *out)
{
    buf_str(out, "readahead: ");
    put_path(p, path, out);
    buf_printf(out, ": %.1f of %.1f MB were read in vain: %s\n", (double)path->unused / PAGES_PER_MB,
               (double)path->came / PAGES_PER_MB, remedies[path->how]);
}

static bool is_worth_it(const struct path *path)
{
    return path->unused >= WORTH && path->unused * WORTH_SHARE >= path->came;
}

void ahead_advice(const struct profile *p, struct buf *out)
{
    paths all = {0};
    u64 guessed = 0;
    size_t shown = 0;
    collect(p, &all);
    if (all.n)
        qsort(all.v, all.n, sizeof(*all.v), most_first);
    for (size_t i = 0; i < all.n; i++) {
        if (!is_worth_it(&all.v[i]))
            continue;
        guessed += all.v[i].how == BY_ADVICE ? 0 : all.v[i].unused;
        if (shown++ < SHOWN)
            put_line(p, &all.v[i], out);
    }
    if (guessed)
        buf_printf(out,
                   "readahead: where programs cannot be changed, lower /sys/block/DISK/queue/read_ahead_kb: that saves "
                   "%.1f MB at most\n",
                   (double)guessed / PAGES_PER_MB);
    vec_free(&all);
}
