#include "inspect/binary_stretches.h"
#include "base/cleanup.h"
#include "cache/cache.h"
#include "opener/hung.h"
#include "parser/parser.h"
#include <errno.h>
#include <string.h>
#include <sys/vfs.h>

#define MAX_STRETCHES 4096 /* of a file */

/* Returns whether it is a new one. */
static bool add(struct binary_stretches *s, u64 number)
{
    size_t at = s->wanted.n;
    while (at && s->wanted.v[at - 1] > number)
        at--;
    if (s->wanted.n >= MAX_STRETCHES || number > UINT32_MAX || (at && s->wanted.v[at - 1] == number))
        return false;
    u32 *end = VEC_PUSH(&s->wanted);
    if (!end)
        return false;
    memmove(&s->wanted.v[at + 1], &s->wanted.v[at], (size_t)(end - &s->wanted.v[at]) * sizeof(*end));
    s->wanted.v[at] = (u32)number;
    return true;
}

/* Does the key identify what is in the file? Not if a container may serve its file system. */
static bool is_local(const struct binary_stretches_source *from)
{
    struct statfs fs;
    return !fstatfs(from->fd, &fs) && !hung_may((u32)fs.f_type);
}

/* What the cache has of the file: an owned descriptor, or -errno. */
static int find_image(const struct binary_stretches_source *from)
{
    u8 digest[16];
    if (!from->cache || !is_local(from))
        return -ENODATA;
    synth_stretches_key(cache_secret(from->cache), from->key, digest);
    return cache_get_index(from->cache, CACHE_STRETCHES, digest);
}

static void add_kept(void *ctx, u32 number)
{
    struct binary_stretches *s = ctx;
    s->kept += add(s, number);
}

static void keep(struct binary_stretches *s, const struct binary_stretches_source *from)
{
    u8 digest[16];
    if (!from->cache || !is_local(from) || !s->made.stretches || s->wanted.n <= s->kept)
        return;
    synth_stretches_key(cache_secret(from->cache), from->key, digest);
    if (!cache_put_index(from->cache, CACHE_STRETCHES, digest, s->made.stretches, s->made.stretches_len))
        s->kept = s->wanted.n;
}

int binary_stretches_want(struct binary_stretches *s, const struct binary_stretches_source *from, const u64 *offsets,
                          size_t n)
{
    struct parser_synth made;
    AUTO_CLOSE int image = find_image(from);
    bool more = false;
    if (!s->loaded) {
        synth_stretches_list(image, add_kept, s);
        s->loaded = true;
        more = s->wanted.n;
    }
    for (size_t i = 0; i < n; i++)
        more |= add(s, offsets[i] / SYNTH_STRETCH);
    if (!more)
        return -ENODATA;
    int rc = parser_stretches(from->parser, from->fd, image, s->wanted.v, s->wanted.n, &made);
    if (rc)
        return rc;
    parser_reply_free(&s->made.bytes);
    s->made = made;
    keep(s, from);
    return 0;
}

void binary_stretches_free(struct binary_stretches *s)
{
    vec_free(&s->wanted);
    parser_reply_free(&s->made.bytes);
}
