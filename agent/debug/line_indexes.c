#include "debug/line_indexes.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/vec.h"
#include "debug/debug.h"
#include "debug/roots.h"
#include "cache/cache.h"
#include "dwarf/dwarf.h"
#include "base/siphash.h"
#include "parser/parser.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#define MAX_KEPT  512                 /* files; each may hold two descriptors */
#define MAX_BYTES ((size_t)128 << 20) /* of memfds */

struct kept {
    u8 digest[16]; /* of the key and the container */
    struct xp_file_key key;
    u32 root; /* until the file is tried; 0: none */
    u64 seen_ns;
    char *path;  /* owned; the same */
    int fd;      /* of the index; -1: there is none */
    int symbols; /* of the debug file; the same */
    bool tried;
    bool pending;              /* to be tried again */
    bool lacks_parts, counted; /* `counted`: in the figures */
    int error;
    size_t bytes; /* of memory */
    u64 used;
};

struct line_indexes {
    const struct debug_search_paths *places;
    struct cache *cache;
    VEC(struct kept) kept;
    struct roots roots;
    size_t bytes;
    u64 clock; /* one tick a look-up */
    struct line_indexes_stats stats;
};

int line_indexes_new(struct line_indexes **out, const struct debug_search_paths *places, struct cache *cache)
{
    struct line_indexes *l = calloc(1, sizeof(*l));
    if (!l)
        return -ENOMEM;
    *l = (struct line_indexes){.places = places, .cache = cache};
    *out = l;
    return 0;
}

static void let_go(struct line_indexes *l, struct kept *k)
{
    roots_release(&l->roots, k->root);
    k->root = 0;
    free(k->path);
    k->path = NULL;
}

/* ---- What is kept ----------------------------------------------------------------------------------------------- */

static void close_kept(struct line_indexes *l, struct kept *k)
{
    l->bytes -= k->bytes;
    let_go(l, k);
    xp_cleanup_close(&k->fd);
    xp_cleanup_close(&k->symbols);
}

void line_indexes_free(struct line_indexes **l)
{
    if (!*l)
        return;
    for (size_t i = 0; i < (*l)->kept.n; i++)
        close_kept(*l, &(*l)->kept.v[i]);
    vec_free(&(*l)->kept);
    roots_free(&(*l)->roots);
    free(*l);
    *l = NULL;
}

static void drop(struct line_indexes *l, struct kept *k)
{
    close_kept(l, k);
    *k = l->kept.v[--l->kept.n];
}

static bool is_removed(int fd)
{
    struct stat st;
    return fd >= 0 && !fs_stat(fd, &st) && !st.st_nlink;
}

void line_indexes_release(struct line_indexes *l, u64 age_ns)
{
    u64 now = now_ns();
    for (size_t i = l->kept.n; i-- > 0;) {
        struct kept *k = &l->kept.v[i];
        if (k->root && now - k->seen_ns >= age_ns)
            let_go(l, k);
        if ((!k->bytes && is_removed(k->fd)) || is_removed(k->symbols))
            drop(l, k);
    }
}

/* The one used longest ago; with `bytes`: of those that take memory. */
static void drop_oldest(struct line_indexes *l, bool bytes)
{
    struct kept *oldest = NULL;
    for (struct kept *k = l->kept.v; k < l->kept.v + l->kept.n; k++)
        if ((!bytes || k->bytes) && (!oldest || k->used < oldest->used))
            oldest = k;
    if (oldest)
        drop(l, oldest);
}

static struct kept *find(const struct line_indexes *l, const u8 digest[16])
{
    for (size_t i = 0; i < l->kept.n; i++)
        if (!memcmp(l->kept.v[i].digest, digest, 16))
            return &l->kept.v[i];
    return NULL;
}

static void add_file(struct siphash *h, int fd)
{
    struct stat st;
    if (fd < 0 || fs_stat(fd, &st))
        return;
    u64 who[] = {st.st_dev, st.st_ino, (u64)st.st_size, (u64)st.st_ctim.tv_sec, (u64)st.st_ctim.tv_nsec};
    siphash_add(h, who, sizeof(who));
}

/* Of a file, and of the others that its debug information is in, or of the container that may have some. The cache's
 * secret keeps others from finding two with one digest. */
static void digest_of(const struct line_indexes *l, const struct xp_file_key *key, u64 cgroup,
                      const struct debug_files *f, u8 out[16])
{
    static const u8 none[16];
    struct siphash h;
    siphash_init(&h, l->cache ? cache_secret(l->cache) : none);
    siphash_add(&h, "lines", 5);
    siphash_add(&h, key, sizeof(*key));
    if (cgroup != LINE_INDEXES_ALL)
        siphash_add(&h, &cgroup, sizeof(cgroup));
    if (f) {
        add_file(&h, f->debug);
        add_file(&h, f->alt);
        add_file(&h, f->dwp);
    }
    siphash_end(&h, out);
}

/* The file's entry, perhaps a new one. NULL without memory. */
static struct kept *entry(struct line_indexes *l, const struct xp_file_key *key, u64 cgroup)
{
    struct kept new = {.key = *key, .fd = -1, .symbols = -1};
    digest_of(l, key, cgroup, NULL, new.digest);
    struct kept *k = find(l, new.digest);
    if (!k) {
        while (l->kept.n >= MAX_KEPT)
            drop_oldest(l, false);
        k = VEC_PUSH(&l->kept);
        if (!k)
            return NULL;
        *k = new;
    }
    k->used = ++l->clock;
    return k;
}

void line_indexes_forget(struct line_indexes *l, const struct xp_file_key *key)
{
    for (size_t i = l->kept.n; i-- > 0;)
        if (!memcmp(&l->kept.v[i].key, key, sizeof(*key)))
            drop(l, &l->kept.v[i]);
}

static void take_root(struct line_indexes *l, struct kept *k, u32 tgid, u64 start_ns, const char *path)
{
    if (k->tried || k->root)
        return;
    k->root = roots_hold(&l->roots, l->places->opener, tgid, start_ns);
    k->path = k->root ? roots_path(&l->roots, k->root, path) : NULL;
    k->seen_ns = now_ns();
}

void line_indexes_seen(struct line_indexes *l, const struct xp_file_key *key, u64 cgroup, u32 tgid, const char *path)
{
    struct kept *k = entry(l, key, cgroup);
    if (k)
        take_root(l, k, tgid, 0, path);
}

/* ---- Making one ------------------------------------------------------------------------------------------------- */

/* A descriptor for what the parser made: the disk's file, or else memory. One that lacks parts which may come later is
 * not for the disk (NULL: nothing is). */
static int keep(struct line_indexes *l, const struct parser_reply *index, const u8 *digest, struct kept *k)
{
    const struct dwarf_index_header *h = index->data;
    int fd = -ENODATA;
    if (l->cache && digest && !(h->cuts & DWARF_CUT_PARTS) &&
        !cache_put_index(l->cache, CACHE_LINES, digest, index->data, index->len))
        fd = cache_get_index(l->cache, CACHE_LINES, digest); /* a full disk costs memory */
    if (fd >= 0)
        return fd;
    if (index->len > MAX_BYTES)
        return -EFBIG;
    while (l->bytes + index->len > MAX_BYTES)
        drop_oldest(l, true);
    fd = fs_sealed_memfd("xprof-lines", index->data, index->len);
    k->bytes = fd < 0 ? 0 : index->len;
    return fd;
}

/* What a container could add is not missing: its own index says so later. */
static void count(struct line_indexes *l, int fd, bool own, struct kept *k)
{
    struct dwarf_index_header h;
    if (fd < 0 || pread(fd, &h, sizeof(h), 0) != sizeof(h))
        return;
    k->lacks_parts = (h.cuts & DWARF_CUT_PARTS) != 0;
    k->counted = k->lacks_parts && !own;
    l->stats.missing_parts += k->counted;
    l->stats.cut += (h.cuts & ~(u32)DWARF_CUT_PARTS) != 0;
}

/* Has the parser make it. */
static int make(struct line_indexes *l, const struct debug_search_paths *places, const struct debug_subject *s,
                const struct debug_files *f, const u8 *digest, struct kept *k)
{
    CLEANUP(parser_reply_free) struct parser_reply index = {0};
    struct debug_split split = {.places = places, .subject = s, .files = f};
    struct dwarf_fds fds = {
        .file = s->fd, .debug = f->debug, .alt = f->alt, .dwp = f->dwp, .dwo = debug_split_open, .ctx = &split};
    int rc = parser_lines(l->places->parser, &fds, &index);
    l->stats.failed += rc && rc != -ENODATA;
    return rc ? rc : keep(l, &index, digest, k);
}

/* With the files of a container alone (`own`), servers are not asked: they were for the index of all. Its split units,
 * which the digest does not tell apart, are not for the disk. */
static int fetch(struct line_indexes *l, const struct xp_file_key *key, int file, bool own, struct kept *k)
{
    CLEANUP(debug_files_free) struct debug_files f = DEBUG_FILES_NONE;
    struct debug_subject s = {.fd = file, .root = roots_fd(&l->roots, k->root), .path = k->path};
    struct debug_search_paths places = *l->places;
    u8 digest[16];
    if (own)
        places.server = NULL;
    int rc = debug_files_find(&places, &s, &f, NULL);
    if (rc)
        return rc;
    k->pending = f.pending;
    if (f.pending)
        return -ENODATA;
    if (f.debug_symbols)
        k->symbols = fcntl(f.debug, F_DUPFD_CLOEXEC, 0);
    l->stats.files += !own || f.found;
    l->stats.found += f.found;
    if (!f.found)
        return -ENODATA;
    bool for_disk = l->cache && (!own || f.debug >= 0);
    digest_of(l, key, LINE_INDEXES_ALL, &f, digest);
    int fd = for_disk ? cache_get_index(l->cache, CACHE_LINES, digest) : -ENODATA;
    fd = fd >= 0 ? fd : make(l, &places, &s, &f, for_disk ? digest : NULL, k);
    count(l, fd, own, k);
    return fd;
}

/* Tries it, unless that was done, and fills *out. */
static int get(struct line_indexes *l, const struct xp_file_key *key, int fd, bool own, struct kept *k,
               struct line_index *out)
{
    if (!k->tried) {
        struct kept with = *k; /* others may be dropped meanwhile, which moves this one */
        int rc = fetch(l, key, fd, own, &with);
        k = find(l, with.digest);
        with.tried = !with.pending && rc != -EREMOTEIO; /* whose file system does not answer now may do so later */
        with.fd = rc < 0 ? -1 : rc;
        with.error = rc < 0 ? rc : 0;
        if (with.tried)
            let_go(l, &with);
        *k = with;
        l->bytes += with.bytes;
    }
    *out = (struct line_index){k->fd, k->symbols, !k->lacks_parts};
    return k->error;
}

int line_indexes_get(struct line_indexes *l, const struct xp_file_key *key, int fd, struct line_index *out)
{
    struct kept *k = entry(l, key, LINE_INDEXES_ALL);
    *out = (struct line_index){.fd = -1, .symbols = -1};
    return k ? get(l, key, fd, false, k, out) : -ENOMEM;
}

/* The index of all lacked parts that a container has. */
static void find_parts(struct line_indexes *l, const struct xp_file_key *key)
{
    struct kept *all = entry(l, key, LINE_INDEXES_ALL);
    if (!all || !all->counted)
        return;
    all->counted = false;
    l->stats.missing_parts--;
}

int line_indexes_get_of(struct line_indexes *l, const struct xp_file_key *key, const struct line_index_process *p,
                        int fd, struct line_index *out)
{
    struct kept *k = entry(l, key, p->cgroup);
    u8 digest[16];
    *out = (struct line_index){.fd = -1, .symbols = -1};
    if (!k)
        return -ENOMEM;
    memcpy(digest, k->digest, sizeof(digest));
    take_root(l, k, p->tgid, p->start_ns, p->path);
    int rc = k->tried || k->root ? get(l, key, fd, true, k, out) : -ESRCH;
    if (!rc && out->complete)
        find_parts(l, key);
    if (rc && out->symbols < 0) /* its place is for those that have something */
        drop(l, find(l, digest));
    return rc;
}

bool line_indexes_pending(struct line_indexes *l, const struct xp_file_key *key)
{
    u8 digest[16];
    digest_of(l, key, LINE_INDEXES_ALL, NULL, digest);
    struct kept *k = find(l, digest);
    return k && k->pending;
}

bool line_indexes_tried(const struct line_indexes *l, const struct xp_file_key *key, u64 cgroup)
{
    u8 digest[16];
    digest_of(l, key, cgroup, NULL, digest);
    struct kept *k = find(l, digest);
    return k && k->tried;
}

struct line_indexes_stats line_indexes_stats(const struct line_indexes *l)
{
    return l->stats;
}
