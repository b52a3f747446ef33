#include "debug/name_indexes.h"
#include "base/cleanup.h"
#include "base/fs.h"
#include "base/shares.h"
#include "base/siphash.h"
#include "base/vec.h"
#include "cache/cache.h"
#include "parser/parser.h"
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#define MAX_KEPT  512                /* files; each may hold a descriptor */
#define MAX_BYTES ((size_t)32 << 20) /* of memfds */
#define PATIENCE  3                  /* requests; the index is built at this one */

struct kept {
    u8 digest[16]; /* of the key and the file with its symbols */
    struct xp_file_key key;
    int fd; /* -1: there is none */
    unsigned requests;
    u64 owner, bytes; /* of memory */
    u64 used;
};

struct name_indexes {
    struct parser *parser;
    struct cache *cache;
    VEC(struct kept) kept;
    struct shares memory;
    u64 clock; /* one tick per request */
    struct name_indexes_stats stats;
};

int name_indexes_new(struct name_indexes **out, struct parser *parser, struct cache *cache)
{
    struct name_indexes *n = calloc(1, sizeof(*n));
    if (!n)
        return -ENOMEM;
    *n = (struct name_indexes){.parser = parser, .cache = cache, .memory = {.limit = MAX_BYTES}};
    *out = n;
    return 0;
}

static void close_kept(struct name_indexes *n, struct kept *k)
{
    if (k->bytes)
        shares_give(&n->memory, k->owner, k->bytes);
    k->bytes = 0;
    xp_cleanup_close(&k->fd);
    k->fd = -1;
}

void name_indexes_free(struct name_indexes **n)
{
    if (!*n)
        return;
    for (size_t i = 0; i < (*n)->kept.n; i++)
        close_kept(*n, &(*n)->kept.v[i]);
    vec_free(&(*n)->kept);
    shares_free(&(*n)->memory);
    free(*n);
    *n = NULL;
}

struct name_indexes_stats name_indexes_stats(const struct name_indexes *n)
{
    return n->stats;
}

/* ---- What is kept ----------------------------------------------------------------------------------------------- */

/* The cache's secret keeps others from finding two files with one digest. */
static void digest_of(const struct name_indexes *n, const struct xp_file_key *key, int symbols, u8 out[16])
{
    static const u8 none[16];
    struct siphash h;
    struct stat st;
    siphash_init(&h, n->cache ? cache_secret(n->cache) : none);
    siphash_add(&h, "names", 5);
    siphash_add(&h, key, sizeof(*key));
    if (symbols >= 0 && !fs_stat(symbols, &st)) {
        u64 who[] = {st.st_dev, st.st_ino, (u64)st.st_size, (u64)st.st_ctim.tv_sec, (u64)st.st_ctim.tv_nsec};
        siphash_add(&h, who, sizeof(who));
    }
    siphash_end(&h, out);
}

static struct kept *least_recent(struct name_indexes *n)
{
    struct kept *oldest = n->kept.v;
    for (struct kept *k = n->kept.v; k < n->kept.v + n->kept.n; k++)
        oldest = k->used < oldest->used ? k : oldest;
    return oldest;
}

/* The file's entry, perhaps a new one. NULL without memory. */
static struct kept *entry(struct name_indexes *n, const struct xp_file_key *key, const u8 digest[16])
{
    for (struct kept *k = n->kept.v; k < n->kept.v + n->kept.n; k++)
        if (!memcmp(k->digest, digest, 16))
            return k;
    struct kept *k = NULL;
    if (n->kept.n < MAX_KEPT)
        k = VEC_PUSH(&n->kept);
    else
        close_kept(n, k = least_recent(n));
    if (!k)
        return NULL;
    *k = (struct kept){.key = *key, .fd = -1};
    memcpy(k->digest, digest, 16);
    return k;
}

void name_indexes_forget(struct name_indexes *n, const struct xp_file_key *key)
{
    for (size_t i = n->kept.n; i--;) {
        struct kept *k = &n->kept.v[i];
        if (k->bytes || memcmp(&k->key, key, sizeof(*key)))
            continue;
        close_kept(n, k);
        *k = n->kept.v[--n->kept.n];
    }
}

/* Which memory to give up so that there is room for an owner's index: its own, or that of who has more than its share.
 * NULL: none. */
static struct kept *victim(struct name_indexes *n, u64 owner)
{
    struct kept *oldest = NULL;
    for (struct kept *k = n->kept.v; k < n->kept.v + n->kept.n; k++) {
        bool may = k->bytes && (k->owner == owner || shares_over(&n->memory, k->owner));
        if (may && (!oldest || k->used < oldest->used))
            oldest = k;
    }
    return oldest;
}

static bool make_room(struct name_indexes *n, u64 owner, u64 bytes)
{
    struct kept *k;
    while (!shares_take(&n->memory, owner, bytes)) {
        k = bytes <= MAX_BYTES ? victim(n, owner) : NULL;
        if (!k)
            return false;
        close_kept(n, k);
        k->requests = 0;
    }
    return true;
}

/* ---- Making one ------------------------------------------------------------------------------------------------- */

/* A descriptor for what the parser made: the disk's file, or else memory. */
static int keep(struct name_indexes *n, struct kept *k, u64 owner, const struct parser_reply *index)
{
    int fd = -ENODATA;
    if (n->cache && !cache_put_index(n->cache, CACHE_NAMES, k->digest, index->data, index->len))
        fd = cache_get_index(n->cache, CACHE_NAMES, k->digest); /* a full disk costs memory */
    if (fd >= 0 || !make_room(n, owner, index->len))
        return fd;
    fd = fs_sealed_memfd("xprof-names", index->data, index->len);
    if (fd < 0) {
        shares_give(&n->memory, owner, index->len);
        return fd;
    }
    k->owner = owner;
    k->bytes = index->len;
    return fd;
}

static int build(struct name_indexes *n, struct kept *k, u64 owner, const struct names_fds *files)
{
    CLEANUP(parser_reply_free) struct parser_reply index = {0};
    int rc = parser_name_index(n->parser, files, &index);
    int fd = rc ? rc : keep(n, k, owner, &index);
    n->stats.built += fd >= 0;
    n->stats.failed += fd < 0 && rc != -ENODATA;
    return fd;
}

int name_indexes_get(struct name_indexes *n, const struct xp_file_key *key, u64 owner, const struct names_fds *files)
{
    u8 digest[16];
    digest_of(n, key, files->symbols, digest);
    struct kept *k = entry(n, key, digest);
    if (!k)
        return -1;
    k->used = ++n->clock;
    k->requests += k->requests <= PATIENCE;
    int fd = k->fd;
    if (k->requests == 1 && n->cache) {
        fd = cache_get_index(n->cache, CACHE_NAMES, digest);
        n->stats.loaded += fd >= 0;
    } else if (k->requests == PATIENCE && fd < 0) {
        fd = build(n, k, owner, files);
    }
    k->fd = fd < 0 ? -1 : fd;
    return k->fd;
}
