#include "probe/shards.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/hash.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define SHARD_BYTES ((size_t)4 << XP_SHARD_SHIFT)
#define SLICE_BYTES (sizeof(u32) << SHARD_SLICE_SHIFT)
#define IN_USE_NS   NS_PER_SEC /* mapping takes longer than keeping, when files come all the time */

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

int shards_init(struct shard_space *t, const struct shards_config *config)
{
    size_t want = (config->bytes + SHARD_BYTES - 1) / SHARD_BYTES;
    t->config = *config;
    t->max_shards = want < 1 ? 1 : want > XP_MAX_SHARDS ? XP_MAX_SHARDS : (u32)want;
    t->next = 1;
    t->next_uid = 1;
    t->shares.limit = (u64)t->max_shards << XP_SHARD_SHIFT;
    int rc = rules_init(&t->rules, config->rules);
    if (rc)
        return rc;
    t->words = mmap(NULL, t->max_shards * SHARD_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (t->words == MAP_FAILED)
        return t->words = NULL, -errno;
    return add_shard(t);
}

void shards_fini(struct shard_space *t)
{
    if (t->words)
        munmap(t->words, t->max_shards * SHARD_BYTES);
    while (t->nshards)
        xp_cleanup_close(&t->fds[--t->nshards]);
    for (size_t i = 0; i < t->rules_of.cap; i++)
        if (t->rules_of.slots[i].used)
            free((void *)(uintptr_t)t->rules_of.slots[i].value);
    map_free(&t->rules_of);
    rules_fini(&t->rules);
    shares_free(&t->shares);
    vec_free(&t->free);
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

struct table_rules {
    u32 n;
    u16 numbers[];
};

/* Enters a table's rules; the list is kept for shards_free. NULL and *rc: as shards_load. */
static struct table_rules *enter_rules(struct shard_space *t, u64 owner, const struct xp_table *image, int *rc)
{
    const u8 *rules = (const u8 *)((const u32 *)(image + 1) + image->nblocks + 1 + image->nrows);
    AUTO_FREE struct xp_rule *aligned = calloc(image->nrules + 1, sizeof(*aligned));
    AUTO_FREE struct table_rules *list = malloc(sizeof(*list) + sizeof(u16) * (image->nrules + 1));
    u64 *kept = aligned && list ? map_put(&t->rules_of, t->next_uid) : NULL;
    *rc = -ENOMEM;
    if (!kept)
        return NULL;
    memcpy(aligned, rules, sizeof(*aligned) * image->nrules); /* an odd number of words may stand in front of them */
    list->n = image->nrules;
    *rc = rules_take(&t->rules, owner, aligned, list->n, list->numbers);
    if (*rc)
        return map_remove(&t->rules_of, t->next_uid), NULL;
    *kept = (u64)(uintptr_t)list;
    return TAKE_PTR(list);
}

static void leave_rules(struct shard_space *t, u32 uid)
{
    const u64 *kept = map_get(&t->rules_of, uid);
    AUTO_FREE struct table_rules *list = kept ? (struct table_rules *)(uintptr_t)*kept : NULL;
    if (list)
        rules_give(&t->rules, list->numbers, list->n);
    map_remove(&t->rules_of, uid);
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

/* n consecutive words, of the owner's share. */
static int take_words(struct shard_space *t, u64 owner, u64 n, u32 *at)
{
    if (t->shares.limit - t->shares.used < n)
        return -ENOSPC;
    if (!shares_take(&t->shares, owner, n))
        return -EUSERS;
    if (reuse_words(t, n, at))
        return 0;
    while (t->next + n > (u64)t->nshards << XP_SHARD_SHIFT) {
        int rc = add_shard(t);
        if (rc)
            return shares_give(&t->shares, owner, n), rc;
    }
    *at = t->next;
    t->next += (u32)n;
    return 0;
}

static int take_mapped(struct shard_space *t, u64 owner, u64 n, u32 *at)
{
    int rc = take_words(t, owner, n, at);
    if (rc)
        return rc;
    rc = map_words(t, *at, n);
    if (rc)
        shards_free(t, &(struct probe_table){.index = *at, .words = (u32)n, .owner = owner});
    return rc;
}

static void write_rows(struct shard_space *t, u32 at, const struct xp_table *image, const u16 *numbers)
{
    const u32 *index = (const u32 *)(image + 1), *rows = index + image->nblocks + 1;
    u32 first_row = at + image->nblocks + 1;
    for (u32 i = 0; i <= image->nblocks; i++)
        t->words[at + i] = first_row + index[i];
    for (u32 i = 0; i < image->nrows; i++)
        t->words[first_row + i] = (rows[i] & 0xffff) | (u32)numbers[rows[i] >> 16] << 16;
}

int shards_load(struct shard_space *t, u64 owner, const struct xp_table *image, struct probe_table *out)
{
    u64 words = (u64)image->nblocks + 1 + image->nrows;
    u32 at;
    int rc;
    const struct table_rules *rules = enter_rules(t, owner, image, &rc);
    if (!rules)
        return rc;
    rc = take_mapped(t, owner, words, &at);
    if (rc)
        return leave_rules(t, t->next_uid), rc;
    write_rows(t, at, image, rules->numbers);
    *out = (struct probe_table){.uid = t->next_uid++,
                                .flags = image->flags,
                                .nblocks = image->nblocks,
                                .index = at,
                                .words = (u32)words,
                                .lo = image->lo,
                                .owner = owner};
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
    leave_rules(t, table->uid);
    shares_give(&t->shares, table->owner, table->words);
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

bool shards_over_share(const struct shard_space *t, u64 owner)
{
    return shares_over(&t->shares, owner) || shares_over(&t->rules.shares, owner);
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
        f.flags = (u16)t->flags;
        f.nblocks = t->nblocks;
        f.index = t->index;
        f.lo = t->lo;
    }
    return f;
}
