#include "base/cleanup.h"
#include "base/test.h"
#include "pipeline/wrong_frees.h"
#include "bpf/heap.h"
#include <stdlib.h>
#include <string.h>

static struct xp_sample *stack(const u64 *words, size_t nkernel, size_t nuser)
{
    struct xp_sample *s = calloc(1, sizeof(*s) + 8 * (nkernel + nuser));
    if (!s)
        return NULL;
    s->nkernel = (u16)nkernel;
    s->nuser = (u16)nuser;
    memcpy(s->words, words, 8 * (nkernel + nuser));
    return s;
}

struct earlier { /* two stacks */
    u64 key[2];
    struct xp_sample *stack[2];
};

static const struct xp_sample *find(const void *ctx, u64 key)
{
    const struct earlier *e = ctx;
    for (size_t i = 0; i < 2; i++)
        if (key && e->key[i] == key)
            return e->stack[i];
    return NULL;
}

/* Joins a wrong free whose own stack is 1, 2. */
static struct xp_sample *join(u32 what, u64 allocated, u64 freed, const struct earlier *e)
{
    const u64 words[] = {XP_LABEL(what, 0),
                         XP_LABEL(XP_LABEL_KEY, allocated & UINT32_MAX),
                         XP_LABEL(XP_LABEL_KEY, allocated >> 32),
                         XP_LABEL(XP_LABEL_KEY, freed & UINT32_MAX),
                         XP_LABEL(XP_LABEL_KEY, freed >> 32),
                         1,
                         2};
    AUTO_FREE struct xp_sample *s = stack(words, XP_BAD_WORDS, 2);
    struct xp_sample *to = calloc(1, sizeof(*to) + 8 * XP_MAX_USER);
    if (s && to && wrong_free_is(s))
        wrong_free_join(to, s, find, e);
    return to;
}

static bool has(const struct xp_sample *s, const u64 *words, size_t n)
{
    return s && !s->nkernel && s->nuser == n && !memcmp(s->words, words, n * sizeof(*words));
}

#define KEY_A 0xfedcba9876543211ull
#define KEY_B 0x8000000180000001ull
#define A     XP_LABEL(XP_LABEL_ALLOCATED, 0)
#define F     XP_LABEL(XP_LABEL_FREED, 0)
#define NONE  XP_LABEL(XP_LABEL_UNKNOWN, 0)

TEST(wrong_frees_have_the_stacks_of_allocation_and_first_free)
{
    static const u64 a[] = {11, 12, 13}, b[] = {21, 22};
    AUTO_FREE struct xp_sample *first = stack(a, 0, 3), *second = stack(b, 0, 2);
    struct earlier e = {{KEY_A, KEY_B}, {first, second}};
    static const u64 twice[] = {11, 12, 13, A, 21, 22, F, XP_LABEL(XP_LABEL_FREED_TWICE, 0), 1, 2};
    static const u64 inside[] = {11, 12, 13, A, XP_LABEL(XP_LABEL_INSIDE, 0), 1, 2};
    static const u64 on_stack[] = {XP_LABEL(XP_LABEL_ON_STACK, 0), 1, 2};
    static const u64 unknown[] = {NONE, A, 21, 22, F, XP_LABEL(XP_LABEL_FREED_TWICE, 0), 1, 2};
    AUTO_FREE struct xp_sample *x = join(XP_LABEL_FREED_TWICE, KEY_A, KEY_B, &e);
    AUTO_FREE struct xp_sample *y = join(XP_LABEL_INSIDE, KEY_A, 0, &e);
    AUTO_FREE struct xp_sample *z = join(XP_LABEL_ON_STACK, 0, 0, &e);
    AUTO_FREE struct xp_sample *u = join(XP_LABEL_FREED_TWICE, 77, KEY_B, &e);
    CHECK(has(x, twice, 10));
    CHECK(has(y, inside, 7));
    CHECK(has(z, on_stack, 3));
    CHECK(has(u, unknown, 8));
}

TEST(wrong_frees_fit_whatever_their_stacks_are)
{
    AUTO_FREE u64 *deep = calloc(XP_MAX_USER + XP_BAD_WORDS, sizeof(*deep));
    AUTO_FREE struct xp_sample *long_one = deep ? stack(deep, 0, XP_MAX_USER) : NULL;
    AUTO_FREE struct xp_sample *to = calloc(1, sizeof(*to) + 8 * XP_MAX_USER);
    CHECK(long_one && to);
    struct earlier e = {{KEY_A, KEY_B}, {long_one, long_one}};
    deep[0] = XP_LABEL(XP_LABEL_FREED_TWICE, 0);
    deep[1] = XP_LABEL(XP_LABEL_KEY, KEY_A & UINT32_MAX);
    deep[2] = XP_LABEL(XP_LABEL_KEY, KEY_A >> 32);
    deep[3] = XP_LABEL(XP_LABEL_KEY, KEY_B & UINT32_MAX);
    deep[4] = XP_LABEL(XP_LABEL_KEY, KEY_B >> 32);
    AUTO_FREE struct xp_sample *s = stack(deep, XP_BAD_WORDS, XP_MAX_USER);
    CHECK(s && wrong_free_is(s));
    wrong_free_join(to, s, find, &e);
    CHECK_EQ(to->nuser, XP_MAX_USER);
}

TEST(wrong_frees_are_no_other_stacks)
{
    static const u64 words[] = {XP_LABEL(XP_LABEL_READ, 0), 1, 2, 3, 4, 5};
    AUTO_FREE struct xp_sample *s = stack(words, 5, 1), *plain = stack(words, 0, 6);
    CHECK(s && plain && !wrong_free_is(s) && !wrong_free_is(plain));
}
