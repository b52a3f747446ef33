#include "probe/shards.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/hash.h"
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#define SHARD_BYTES ((size_t)4 << XP_SHARD_SHIFT)
#define SLICE_BYTES (sizeof(u32) << SHARD_SLICE_SHIFT)
#define IN_USE_NS   NS_PER_SEC /* mapping takes longer than keeping, when files come all the time */

int shards_init(struct shard_space *t, const struct shards_config *config)
{
    size_t want = (config->bytes + SHARD_BYTES - 1) / SHARD_BYTES;
    t->config = *config;
    t->max_shards = want < 1 ? 1 : want > XP_MAX_SHARDS ? XP_MAX_SHARDS : (u32)want;
    t->next = 1;
    t->next_uid = 1;
    t->nrules = 1; /* rule 0 is XP_CFA_NONE: what word 0 and every unset word mean */
    t->words = mmap(NULL, t->max_shards * SHARD_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (t->words == MAP_FAILED)
        return t->words = NULL, -errno;
    int fd = config->add(config->ctx, 0);
    if (fd < 0)
        return fd;
    t->fds[t->nshards++] = fd;
    return 0;
}

void shards_fini(struct shard_space *t)
{
    if (t->words)
        munmap(t->words, t->max_shards * SHARD_BYTES);
    while (t->nshards)
        xp_cleanup_close(&t->fds[--t->nshards]);
    map_free(&t->rule_ids);
    vec_free(&t->free);
}

static int add_shard(struct shard_space *t)
{
    if (t->nshards >= t->max_shards)
        return -ENOSPC;
    int fd = t->config.add(t->config.ctx, t->nshards);
    if (fd < 0)
        return fd;
    t->fds[t->nshards++] = fd;
    return 0;
}

/* Maps the slices of words [at, at + n), of shards that are there. */
static int map_words(struct shard_space *t, u64 at, u64 n)
{
    t->used_ns = now_ns();
    for (u64 i = at >> SHARD_SLICE_SHIFT; i << SHARD_SLICE_SHIFT < at + n; i++) {
        u64 word = i << SHARD_SLICE_SHIFT, shard = word >> XP_SHARD_SHIFT;
        if (t->mapped[i])
            continue;
        off_t offset = (off_t)((word - (shard << XP_SHARD_SHIFT)) * sizeof(u32));
        if (mmap(t->words + word, SLICE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, t->fds[shard], offset) ==
            MAP_FAILED)
            return -errno;
        t->mapped[i] = true;
        t->nmapped++;
    }
    return 0;
}

void shards_rest(struct shard_space *t)
{
    if (!t->nmapped || now_ns() - t->used_ns < IN_USE_NS)
        return;
    void *none = mmap(t->words, t->nshards * SHARD_BYTES, PROT_NONE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    if (none == MAP_FAILED)
        return;
    memset(t->mapped, 0, sizeof(t->mapped));
    t->nmapped = 0;
}

/* The rule's number in the machine's dictionary. */
static int rule_number(struct shard_space *t, const struct xp_rule *r, u32 *out)
{
    u64 key;
    memcpy(&key, r, sizeof(key));
    u64 *id = map_put(&t->rule_ids, key);
    if (!id)
        return -ENOMEM;
    if (!*id) {
        if (t->nrules >= XP_MAX_RULES)
            return -ENOSPC;
        t->config.rules[t->nrules] = *r;
        *id = ++t->nrules; /* number + 1 */
    }
    *out = (u32)*id - 1;
    return 0;
}

static int number_rules(struct shard_space *t, const struct xp_rule *rules, u32 n, u32 **out)
{
    AUTO_FREE u32 *ids = calloc(n ? n : 1, sizeof(*ids));
    if (!ids)
        return -ENOMEM;
    for (u32 i = 0; i < n; i++) {
        int rc = rule_number(t, &rules[i], &ids[i]);
        if (rc)
            return rc;
    }
    *out = TAKE_PTR(ids);
    return 0;
}

/* Words that a table gave back, first fit. */
static bool reuse_words(struct shard_space *t, u64 n, u32 *at)
{
    u64 now = now_ns();
    for (size_t i = 0; i < t->free.n; i++) {
        struct free_words *f = &t->free.v[i];
        if (f->n < n || now - f->since_ns < PROBE_GRACE_NS)
            continue;
        *at = f->at;
        f->at += (u32)n;
        f->n -= (u32)n;
        if (!f->n)
            memmove(f, f + 1, sizeof(*f) * (--t->free.n - i));
        return true;
    }
    return false;
}

/* n consecutive words. */
static int take_words(struct shard_space *t, u64 n, u32 *at)
{
    if (reuse_words(t, n, at))
        return 0;
    while (t->next + n > (u64)t->nshards << XP_SHARD_SHIFT) {
        int rc = add_shard(t);
        if (rc)
            return rc;
    }
    *at = t->next;
    t->next += (u32)n;
    return 0;
}

int shards_load(struct shard_space *t, const struct xp_table *image, struct probe_table *out)
{
    const u32 *index = (const u32 *)(image + 1), *rows = index + image->nblocks + 1;
    const struct xp_rule *rules = (const struct xp_rule *)(rows + image->nrows);
    u64 words = (u64)image->nblocks + 1 + image->nrows;
    u32 at;
    AUTO_FREE u32 *ids = NULL;
    AUTO_FREE struct xp_rule *aligned = malloc(sizeof(*rules) * (image->nrules + 1));
    if (!aligned)
        return -ENOMEM;
    memcpy(aligned, rules, sizeof(*rules) * image->nrules); /* an odd number of words may stand in front of them */
    int rc = number_rules(t, aligned, image->nrules, &ids);
    if (!rc)
        rc = take_words(t, words, &at);
    if (!rc)
        rc = map_words(t, at, words);
    if (rc)
        return rc;
    u32 first_row = at + image->nblocks + 1;
    for (u32 i = 0; i <= image->nblocks; i++)
        t->words[at + i] = first_row + index[i];
    for (u32 i = 0; i < image->nrows; i++)
        t->words[first_row + i] = (rows[i] & 0xffff) | ids[rows[i] >> 16] << 16;
    *out = (struct probe_table){.uid = t->next_uid++,
                                .flags = image->flags,
                                .nblocks = image->nblocks,
                                .index = at,
                                .words = (u32)words,
                                .lo = image->lo};
    return 0;
}

/* Joins range i with the one behind it when they touch. */
static void join_words(struct shard_space *t, size_t i)
{
    struct free_words *f = t->free.v;
    if (i + 1 >= t->free.n || f[i].at + f[i].n != f[i + 1].at)
        return;
    f[i].n += f[i + 1].n;
    f[i].since_ns = f[i].since_ns > f[i + 1].since_ns ? f[i].since_ns : f[i + 1].since_ns;
    memmove(f + i + 1, f + i + 2, sizeof(*f) * (--t->free.n - i - 1));
}

void shards_free(struct shard_space *t, const struct probe_table *table)
{
    if (!table->words || VEC_RESERVE(&t->free, t->free.n + 1)) /* without memory the words are lost, and nothing else */
        return;
    size_t i = t->free.n++;
    for (; i && t->free.v[i - 1].at > table->index; i--)
        t->free.v[i] = t->free.v[i - 1];
    t->free.v[i] = (struct free_words){table->index, table->words, now_ns()};
    join_words(t, i);
    if (i)
        join_words(t, i - 1);
}

const u32 *shards_words(struct shard_space *t, u32 *limit)
{
    *limit = map_words(t, 0, t->next) ? 0 : t->next;
    return t->words;
}

struct xp_file shards_file(u32 id, enum xp_file_state state, const struct probe_table *t)
{
    struct xp_file f = {.id = id, .state = state};
    if (t) {
        f.uid = t->uid;
        f.flags = t->flags;
        f.nblocks = t->nblocks;
        f.index = t->index;
        f.lo = t->lo;
    }
    return f;
}
