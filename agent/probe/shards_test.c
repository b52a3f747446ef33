#include "probe/shards.h"
#include "base/cleanup.h"
#include "base/test.h"
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define SHARD_WORDS (1u << XP_SHARD_SHIFT)

/* The shards of a test, in memory, and how many more may be made. */
struct ground {
    struct shard_space space;
    struct xp_rule rules[XP_MAX_RULES];
    u32 allowed, made;
};

static int add_shard(void *ctx, u32 number)
{
    struct ground *g = ctx;
    if (number >= g->allowed)
        return -EIO;
    AUTO_CLOSE int fd = memfd_create("shard", MFD_CLOEXEC);
    if (fd < 0 || ftruncate(fd, (off_t)sizeof(u32) << XP_SHARD_SHIFT))
        return -errno;
    g->made++;
    return TAKE_FD(fd);
}

static void ground_free(struct ground **g)
{
    if (*g)
        shards_fini(&(*g)->space);
    free(*g);
}
#define AUTO_GROUND CLEANUP(ground_free) struct ground

static struct ground *ground_new(u32 shards)
{
    struct ground *g = calloc(1, sizeof(*g));
    if (!g)
        return NULL;
    g->allowed = 64;
    struct shards_config c = {
        .bytes = (size_t)shards * 4 << XP_SHARD_SHIFT, .rules = g->rules, .ctx = g, .add = add_shard};
    if (shards_init(&g->space, &c))
        ground_free(&g);
    return g;
}

/* An image of one block with `nrows` rows behind the sentinel, row i at offset i by rule 1 + i % nrules; rules count
 * from `first`. Owned by the caller. */
static struct xp_table *image_of(u32 nrows, u32 nrules, s32 first)
{
    size_t len = sizeof(struct xp_table) + 4ull * (2 + nrows + 1) + sizeof(struct xp_rule) * (nrules + 1);
    struct xp_table *t = calloc(1, len);
    if (!t)
        return NULL;
    *t = (struct xp_table){.flags = 5, .nblocks = 1, .nrows = nrows + 1, .nrules = nrules + 1, .lo = 4096};
    u32 *index = (u32 *)(t + 1), *rows = index + 2;
    index[0] = 1;
    index[1] = nrows + 1;
    for (u32 i = 1; i <= nrows; i++)
        rows[i] = (i & (XP_BLOCK - 1)) | (1 + i % nrules) << 16;
    for (u32 i = 1; i <= nrules; i++) {
        struct xp_rule r = {.cfa_off = first + (s32)i, .kind = XP_CFA_RSP};
        memcpy((u8 *)(rows + nrows + 1) + sizeof(r) * i, &r, sizeof(r));
    }
    return t;
}

static int load(struct ground *g, u32 nrows, u32 nrules, s32 first, struct probe_table *out)
{
    AUTO_FREE struct xp_table *image = image_of(nrows, nrules, first);
    return image ? shards_load(&g->space, SHARES_ALL, image, out) : -ENOMEM;
}

static void let_grace_pass(struct ground *g)
{
    for (size_t i = 0; i < g->space.free.n; i++)
        g->space.free.v[i].since_ns -= PROBE_GRACE_NS;
}

TEST(shards_hold_a_table_with_its_places_and_rules)
{
    AUTO_GROUND *g = ground_new(1);
    struct probe_table t;
    u32 limit;
    CHECK(g != NULL);
    CHECK_EQ(load(g, 3, 2, 100, &t), 0);
    CHECK_EQ(t.index, 1); /* word 0 stays unused */
    CHECK_EQ(t.words, 1 + 1 + 4);
    CHECK_EQ(t.nblocks, 1);
    CHECK_EQ(t.flags, 5);
    CHECK_EQ(t.lo, 4096);
    const u32 *w = shards_words(&g->space, &limit);
    CHECK_EQ(limit, 1 + t.words);
    CHECK_EQ(w[t.index], t.index + 2 + 1); /* the first row behind the sentinel, by its place */
    CHECK_EQ(w[t.index + 1], t.index + 2 + 4);
    for (u32 i = 1; i <= 3; i++) {
        u32 row = w[t.index + 2 + i];
        CHECK_EQ(row & 0xffff, i);
        CHECK_EQ(g->rules[row >> 16].cfa_off, 100 + 1 + i % 2);
    }
}

TEST(shards_keep_each_rule_once)
{
    AUTO_GROUND *g = ground_new(1);
    struct probe_table a, b;
    CHECK(g != NULL);
    CHECK_EQ(load(g, 3, 2, 100, &a), 0);
    u32 known = g->space.rules.n;
    CHECK_EQ(known, 1 + 2); /* the empty one was there */
    CHECK_EQ(load(g, 9, 2, 100, &b), 0);
    CHECK_EQ(g->space.rules.n, known);
    CHECK(a.uid != b.uid);
    CHECK_EQ(load(g, 3, 2, 200, &b), 0);
    CHECK_EQ(g->space.rules.n, known + 2);
}

TEST(shards_refuse_rules_beyond_the_dictionary)
{
    AUTO_GROUND *g = ground_new(1);
    struct probe_table t;
    CHECK(g != NULL);
    g->space.rules.n = XP_MAX_RULES - 1;
    CHECK_EQ(load(g, 3, 2, 100, &t), -ENOSPC);
    CHECK_EQ(g->space.rules.n, XP_MAX_RULES - 1); /* and keep none of them */
    CHECK_EQ(g->space.shares.used, 0);
    CHECK_EQ(load(g, 3, 1, 100, &t), 0);
    shards_free(&g->space, &t);
    CHECK_EQ(g->space.rules.shares.used, 0);
    CHECK_EQ(g->space.shares.used, 0);
    CHECK_EQ(g->space.rules_of.n, 0);
}

TEST(shards_give_an_owner_its_share)
{
    AUTO_GROUND *g = ground_new(1);
    struct probe_table t;
    CHECK(g != NULL);
    AUTO_FREE struct xp_table *half = image_of(SHARD_WORDS / 2, 1, 1), *small = image_of(1000, 1, 1);
    CHECK_EQ(shards_load(&g->space, 7, half, &t), 0);
    CHECK_EQ(shards_load(&g->space, 7, half, &t), -ENOSPC); /* it would not fit, whosever it is */
    while (!shards_load(&g->space, 7, small, &t))
        ;
    CHECK_EQ(shards_load(&g->space, 7, small, &t), -EUSERS);
    CHECK(!shards_over_share(&g->space, 7));
    for (int i = 0; i < 10; i++)
        CHECK_EQ(shards_load(&g->space, 8, small, &t), 0);
    CHECK(shards_over_share(&g->space, 7));
    CHECK(!shards_over_share(&g->space, 8));
    CHECK_EQ(g->space.rules.n, 2); /* what was refused left no rule behind, either */
    CHECK_EQ(g->space.rules.uses[1].tables, g->space.rules_of.n);
}

TEST(shards_are_made_as_they_are_needed_up_to_the_budget)
{
    AUTO_GROUND *g = ground_new(2);
    struct probe_table t;
    CHECK(g != NULL);
    CHECK_EQ(g->made, 1);
    CHECK_EQ(load(g, SHARD_WORDS - 100, 1, 1, &t), 0);
    CHECK_EQ(g->made, 1);
    CHECK_EQ(load(g, 200, 1, 1, &t), 0); /* half of it is in the second one */
    CHECK_EQ(g->made, 2);
    u32 limit;
    CHECK_EQ(shards_words(&g->space, &limit)[t.index + 2 + 200] & 0xffff, 200);
    CHECK_EQ(load(g, SHARD_WORDS, 1, 1, &t), -ENOSPC);
    CHECK_EQ(load(g, 200, 1, 1, &t), 0);
}

TEST(shards_say_why_none_could_be_made)
{
    AUTO_GROUND *g = ground_new(2);
    struct probe_table t;
    CHECK(g != NULL);
    g->allowed = 1;
    CHECK_EQ(load(g, SHARD_WORDS, 1, 1, &t), -EIO);
}

TEST(shards_use_words_again_after_a_grace)
{
    AUTO_GROUND *g = ground_new(1);
    struct probe_table a, b, c, d;
    CHECK(g != NULL);
    CHECK_EQ(load(g, 10, 1, 1, &a), 0);
    CHECK_EQ(load(g, 20, 1, 1, &b), 0);
    shards_free(&g->space, &a);
    CHECK_EQ(load(g, 10, 1, 1, &c), 0);
    CHECK(c.index > b.index); /* programs may still read a's words */
    let_grace_pass(g);
    CHECK_EQ(load(g, 4, 1, 1, &d), 0);
    CHECK_EQ(d.index, a.index);
    CHECK_EQ(g->space.free.n, 1); /* what is left of them */
    CHECK_EQ(g->space.free.v[0].n, a.words - d.words);
    CHECK_EQ(g->space.free.v[0].at, a.index + d.words);
    CHECK_EQ(load(g, a.words - d.words - 3, 1, 1, &d), 0);
    CHECK_EQ(g->space.free.n, 0);
}

TEST(shards_join_words_that_touch)
{
    AUTO_GROUND *g = ground_new(1);
    struct probe_table t[4];
    CHECK(g != NULL);
    for (int i = 0; i < 4; i++)
        CHECK_EQ(load(g, 10, 1, 1, &t[i]), 0);
    shards_free(&g->space, &t[2]);
    shards_free(&g->space, &t[0]);
    CHECK_EQ(g->space.free.n, 2);
    CHECK_EQ(g->space.free.v[0].at, t[0].index); /* by place */
    let_grace_pass(g);
    shards_free(&g->space, &t[1]); /* between the two */
    CHECK_EQ(g->space.free.n, 1);
    CHECK_EQ(g->space.free.v[0].n, 3 * t[0].words);
    struct probe_table large;
    CHECK_EQ(load(g, 25, 1, 1, &large), 0);
    CHECK(large.index > t[3].index); /* the youngest of them decides about the grace */
    let_grace_pass(g);
    CHECK_EQ(load(g, 25, 1, 1, &large), 0);
    CHECK_EQ(large.index, t[0].index);
}

TEST(shards_are_unmapped_when_nobody_needs_them)
{
    AUTO_GROUND *g = ground_new(1);
    struct probe_table t;
    u32 limit;
    CHECK(g != NULL);
    CHECK_EQ(load(g, 3, 1, 1, &t), 0);
    CHECK_EQ(g->space.nmapped, 1);
    shards_rest(&g->space);
    CHECK_EQ(g->space.nmapped, 1); /* just now */
    g->space.used_ns -= 2000000000ull;
    shards_rest(&g->space);
    CHECK_EQ(g->space.nmapped, 0);
    CHECK_EQ(shards_words(&g->space, &limit)[t.index + 3] & 0xffff, 1); /* and mapped again */
    CHECK_EQ(g->space.nmapped, 1);
}
