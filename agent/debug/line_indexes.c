#include "debug/line_indexes.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/vec.h"
#include "debug/debug.h"
#include "cache/cache.h"
#include "dwarf/dwarf.h"
#include "base/siphash.h"
#include "opener/opener.h"
#include "parser/parser.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#define MAX_KEPT  512                 /* files; each may hold two descriptors */
#define MAX_BYTES ((size_t)128 << 20) /* of memfds */

struct root { /* of one or more processes */
    int fd;   /* O_PATH */
    u64 mount;
    dev_t dev;
    ino_t ino;
    unsigned refs; /* 0: this place is free */
};

struct kept {
    u8 digest[16]; /* of the key */
    u32 root;      /* 1 + its place in `roots`, until the file is tried; 0: none */
    u64 seen_ns;
    char *path;  /* owned; the same */
    int fd;      /* of the index; -1: there is none */
    int symbols; /* of the debug file; the same */
    bool tried;
    bool pending; /* to be tried again */
    int error;
    size_t bytes; /* of memory */
    u64 used;
};

struct line_indexes {
    const struct debug_search_paths *places;
    struct cache *cache;
    VEC(struct kept) kept;
    VEC(struct root) roots;
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

/* ---- Roots ------------------------------------------------------------------------------------------------------ */

static int identify_root(struct root *r)
{
    struct statx x;
    if (statx(r->fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_INO | STATX_MNT_ID, &x))
        return -errno;
    r->dev = makedev(x.stx_dev_major, x.stx_dev_minor);
    r->ino = x.stx_ino;
    r->mount = x.stx_mask & STATX_MNT_ID ? x.stx_mnt_id : 0; /* Linux 5.8: else processes of one container are told
                                                                apart by less */
    return 0;
}

/* 1 + its place; 0: the process is gone, or no memory. */
static u32 hold_root(struct line_indexes *l, u32 tgid)
{
    AUTO_CLOSE int fd = opener_root(l->places->opener, tgid);
    struct root new = {.fd = fd, .refs = 1}, *place = NULL;
    if (fd < 0 || identify_root(&new))
        return 0;
    for (struct root *r = l->roots.v; r < l->roots.v + l->roots.n; r++) {
        if (r->refs && r->dev == new.dev && r->ino == new.ino && r->mount == new.mount) {
            r->refs++;
            return (u32)(r - l->roots.v) + 1;
        }
        place = r->refs ? place : r;
    }
    place = place ? place : VEC_PUSH(&l->roots);
    if (!place)
        return 0;
    *place = new;
    (void)TAKE_FD(fd);
    return (u32)(place - l->roots.v) + 1;
}

static void let_go(struct line_indexes *l, struct kept *k)
{
    struct root *r = k->root ? &l->roots.v[k->root - 1] : NULL;
    if (r && !--r->refs)
        close(r->fd);
    k->root = 0;
    free(k->path);
    k->path = NULL;
}

void line_indexes_release(struct line_indexes *l, u64 age_ns)
{
    u64 now = now_ns();
    for (struct kept *k = l->kept.v; k < l->kept.v + l->kept.n; k++)
        if (k->root && now - k->seen_ns >= age_ns)
            let_go(l, k);
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
    vec_free(&(*l)->roots);
    free(*l);
    *l = NULL;
}

/* The one used longest ago; with `bytes`: of those that take memory. */
static void drop_oldest(struct line_indexes *l, bool bytes)
{
    struct kept *oldest = NULL;
    for (struct kept *k = l->kept.v; k < l->kept.v + l->kept.n; k++)
        if ((!bytes || k->bytes) && (!oldest || k->used < oldest->used))
            oldest = k;
    if (!oldest)
        return;
    close_kept(l, oldest);
    *oldest = l->kept.v[--l->kept.n];
}

static struct kept *find(struct line_indexes *l, const u8 digest[16])
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

/* Of a file, and of the others that its debug information is in. The cache's secret keeps others from finding two with
 * one digest. */
static void digest_of(const struct line_indexes *l, const struct xp_file_key *key, const struct debug_files *f,
                      u8 out[16])
{
    static const u8 none[16];
    struct siphash h;
    siphash_init(&h, l->cache ? cache_secret(l->cache) : none);
    siphash_add(&h, "lines", 5);
    siphash_add(&h, key, sizeof(*key));
    if (f) {
        add_file(&h, f->debug);
        add_file(&h, f->alt);
        add_file(&h, f->dwp);
    }
    siphash_end(&h, out);
}

/* The file's entry, perhaps a new one. NULL without memory. */
static struct kept *entry(struct line_indexes *l, const struct xp_file_key *key)
{
    struct kept new = {.fd = -1, .symbols = -1};
    digest_of(l, key, NULL, new.digest);
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
    u8 digest[16];
    digest_of(l, key, NULL, digest);
    struct kept *k = find(l, digest);
    if (!k)
        return;
    close_kept(l, k);
    *k = l->kept.v[--l->kept.n];
}

/* The path of a mapping is the agent's view of it; below a root that the agent sees, too (chroot), that root is in
 * front.
 */
static char *path_in_root(const struct root *r, const char *path)
{
    char self[32], root[4096];
    snprintf(self, sizeof(self), "/proc/self/fd/%d", r->fd);
    ssize_t n = readlink(self, root, sizeof(root));
    bool below = n > 1 && (size_t)n < sizeof(root) && !strncmp(path, root, (size_t)n) && path[n] == '/';
    return strdup(below ? path + n : path);
}

void line_indexes_seen(struct line_indexes *l, const struct xp_file_key *key, u32 tgid, const char *path)
{
    struct kept *k = entry(l, key);
    if (!k || k->tried || k->root)
        return;
    k->root = hold_root(l, tgid);
    k->path = k->root ? path_in_root(&l->roots.v[k->root - 1], path) : NULL;
    k->seen_ns = now_ns();
}

/* ---- Making one ------------------------------------------------------------------------------------------------- */

/* A descriptor for what the parser made: the disk's file, or else memory. One that lacks parts which may come later is
 * not for the disk. */
static int keep(struct line_indexes *l, const struct parser_reply *index, const u8 digest[16], struct kept *k)
{
    const struct dwarf_index_header *h = index->data;
    int fd = -ENODATA;
    if (l->cache && !(h->cuts & DWARF_CUT_PARTS) && !cache_put_lines(l->cache, digest, index->data, index->len))
        fd = cache_get_lines(l->cache, digest); /* a full disk costs memory */
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

static void count(struct line_indexes *l, int fd)
{
    struct dwarf_index_header h;
    if (fd < 0 || pread(fd, &h, sizeof(h), 0) != sizeof(h))
        return;
    l->stats.missing_parts += (h.cuts & DWARF_CUT_PARTS) != 0;
    l->stats.cut += (h.cuts & ~(u32)DWARF_CUT_PARTS) != 0;
}

/* Has the parser make it. */
static int make(struct line_indexes *l, const struct debug_subject *s, const struct debug_files *f, const u8 digest[16],
                struct kept *k)
{
    CLEANUP(parser_reply_free) struct parser_reply index = {0};
    struct debug_split split = {.places = l->places, .subject = s, .files = f};
    struct dwarf_fds fds = {
        .file = s->fd, .debug = f->debug, .alt = f->alt, .dwp = f->dwp, .dwo = debug_split_open, .ctx = &split};
    int rc = parser_lines(l->places->parser, &fds, &index);
    l->stats.failed += rc && rc != -ENODATA;
    return rc ? rc : keep(l, &index, digest, k);
}

static int fetch(struct line_indexes *l, const struct xp_file_key *key, int file, struct kept *k)
{
    CLEANUP(debug_files_free) struct debug_files f = DEBUG_FILES_NONE;
    struct debug_subject s = {.fd = file, .root = k->root ? l->roots.v[k->root - 1].fd : -1, .path = k->path};
    u8 digest[16];
    int rc = debug_files_find(l->places, &s, &f, NULL);
    if (rc)
        return rc;
    k->pending = f.pending;
    if (f.pending)
        return -ENODATA;
    if (f.debug_symbols)
        k->symbols = fcntl(f.debug, F_DUPFD_CLOEXEC, 0);
    l->stats.files++;
    l->stats.found += f.found;
    if (!f.found)
        return -ENODATA;
    digest_of(l, key, &f, digest);
    int fd = l->cache ? cache_get_lines(l->cache, digest) : -ENODATA;
    fd = fd >= 0 ? fd : make(l, &s, &f, digest, k);
    count(l, fd);
    return fd;
}

int line_indexes_get(struct line_indexes *l, const struct xp_file_key *key, int fd, struct line_index *out)
{
    struct kept *k = entry(l, key);
    *out = (struct line_index){-1, -1};
    if (!k)
        return -ENOMEM;
    if (!k->tried) {
        struct kept with = *k; /* others may be dropped meanwhile, which moves this one */
        int rc = fetch(l, key, fd, &with);
        k = find(l, with.digest);
        with.tried = !with.pending && rc != -EREMOTEIO; /* whose file system does not answer now may do so later */
        with.fd = rc < 0 ? -1 : rc;
        with.error = rc < 0 ? rc : 0;
        if (with.tried)
            let_go(l, &with);
        *k = with;
        l->bytes += with.bytes;
    }
    *out = (struct line_index){k->fd, k->symbols};
    return k->error;
}

bool line_indexes_pending(struct line_indexes *l, const struct xp_file_key *key)
{
    u8 digest[16];
    digest_of(l, key, NULL, digest);
    struct kept *k = find(l, digest);
    return k && k->pending;
}

struct line_indexes_stats line_indexes_stats(const struct line_indexes *l)
{
    return l->stats;
}
