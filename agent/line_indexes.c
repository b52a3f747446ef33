#include "line_indexes.h"
#include "base/cleanup.h"
#include "base/fs.h"
#include "base/vec.h"
#include "debug_file.h"
#include "object/cache.h"
#include "object/siphash.h"
#include "parser/parser.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#define MAX_KEPT  512                 /* files; each may hold a descriptor */
#define MAX_BYTES ((size_t)128 << 20) /* of memfds */

struct kept {
    u8 digest[16]; /* of the key */
    int debug;     /* where its debug information may be, until it is read; -1: nowhere else */
    int fd;        /* of the index; -1: there is none */
    bool tried;
    int error;
    size_t bytes; /* of memory */
    u64 used;
};

struct line_indexes {
    struct parser *parser;
    struct cache *cache;
    VEC(struct kept) kept;
    size_t bytes;
    u64 clock; /* one tick a look-up */
};

int line_indexes_new(struct line_indexes **out, struct parser *parser, struct cache *cache)
{
    struct line_indexes *l = calloc(1, sizeof(*l));
    if (!l)
        return -ENOMEM;
    *l = (struct line_indexes){.parser = parser, .cache = cache};
    *out = l;
    return 0;
}

void line_indexes_free(struct line_indexes **l)
{
    if (!*l)
        return;
    for (size_t i = 0; i < (*l)->kept.n; i++) {
        xp_cleanup_close(&(*l)->kept.v[i].fd);
        xp_cleanup_close(&(*l)->kept.v[i].debug);
    }
    vec_free(&(*l)->kept);
    free(*l);
    *l = NULL;
}

/* Of a file, and of its debug file if that is another one. The cache's secret keeps others from finding two with one
 * digest. */
static void digest_of(const struct line_indexes *l, const struct xp_file_key *key, int debug, u8 out[16])
{
    static const u8 none[16];
    struct siphash h;
    struct stat st;
    siphash_init(&h, l->cache ? cache_secret(l->cache) : none);
    siphash_add(&h, "lines", 5);
    siphash_add(&h, key, sizeof(*key));
    if (debug >= 0 && !fstat(debug, &st)) {
        u64 who[] = {st.st_dev, st.st_ino, (u64)st.st_size, (u64)st.st_ctim.tv_sec, (u64)st.st_ctim.tv_nsec};
        siphash_add(&h, who, sizeof(who));
    }
    siphash_end(&h, out);
}

static struct kept *find(struct line_indexes *l, const u8 digest[16])
{
    for (size_t i = 0; i < l->kept.n; i++)
        if (!memcmp(l->kept.v[i].digest, digest, 16))
            return &l->kept.v[i];
    return NULL;
}

static void drop(struct line_indexes *l, struct kept *k)
{
    l->bytes -= k->bytes;
    xp_cleanup_close(&k->fd);
    xp_cleanup_close(&k->debug);
    *k = l->kept.v[--l->kept.n];
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

/* A descriptor for what the parser made: the disk's file, or else memory. */
static int keep(struct line_indexes *l, const struct parser_reply *index, const u8 digest[16], struct kept *k)
{
    int fd = -ENODATA;
    if (l->cache && !cache_put_lines(l->cache, digest, index->data, index->len)) /* a full disk costs memory */
        fd = cache_get_lines(l->cache, digest);
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

static int fetch(struct line_indexes *l, const struct xp_file_key *key, int file, struct kept *k)
{
    CLEANUP(parser_reply_free) struct parser_reply index = {0};
    u8 digest[16];
    digest_of(l, key, k->debug, digest);
    int fd = l->cache ? cache_get_lines(l->cache, digest) : -ENODATA;
    if (fd >= 0)
        return fd;
    int rc = parser_lines(l->parser, file, k->debug, &index);
    return rc ? rc : keep(l, &index, digest, k);
}

/* The file's entry, perhaps a new one. NULL without memory. */
static struct kept *entry(struct line_indexes *l, const struct xp_file_key *key)
{
    struct kept new = {.fd = -1, .debug = -1};
    digest_of(l, key, -1, new.digest);
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

void line_indexes_seen(struct line_indexes *l, const struct xp_file_key *key, u32 tgid, const char *path,
                       const char *build_id)
{
    AUTO_CLOSE int debug = debug_file_open(tgid, path, build_id);
    struct kept *k = debug >= 0 ? entry(l, key) : NULL;
    if (k && !k->tried && k->debug < 0)
        k->debug = TAKE_FD(debug);
}

int line_indexes_get(struct line_indexes *l, const struct xp_file_key *key, int fd)
{
    struct kept *k = entry(l, key);
    if (!k)
        return -ENOMEM;
    if (!k->tried) {
        struct kept with = *k; /* others may be dropped meanwhile, which moves this one */
        int rc = fetch(l, key, fd, &with);
        k = find(l, with.digest);
        with.tried = true;
        with.fd = rc < 0 ? -1 : rc;
        with.error = rc < 0 ? rc : 0;
        xp_cleanup_close(&with.debug);
        with.debug = -1;
        *k = with;
        l->bytes += with.bytes;
    }
    return k->error ? k->error : k->fd;
}
