/* Counting samples raw: samples a second that aggregate_add takes, of 30 words each.
 *
 *     bench/aggregate [samples]
 *
 * Repeated: 2,000 stacks again and again, as a busy server's. Unique: every stack another one, as exact addresses make
 * them. The reference is what no store of stacks can do without: hashing the words once and copying them to memory.
 */
#include "base/cleanup.h"
#include "base/clock.h"
#include "profile/aggregate.h"
#include "profile/lookup.h"
#include <stdio.h>
#include <string.h>

#define WORDS  30
#define KERNEL 6
#define STACKS 2000

struct sample {
    struct xp_sample head;
    u64 words[WORDS];
};

static void fill(struct sample *s, u64 stack)
{
    *s = (struct sample){.head = {.type = XP_RECORD_SAMPLE, .weight = 10101010, .comm = "server"}};
    s->head.tgid = 100 + (u32)(stack % 7);
    s->head.start = s->head.tgid;
    s->head.nkernel = KERNEL;
    s->head.nuser = WORDS - KERNEL;
    for (u64 i = 0; i < WORDS; i++) {
        u64 r = hash_u64(stack << 8 | (i + 4 > WORDS ? 0 : i)); /* callers are shared, the leaf never */
        s->words[i] = i < KERNEL ? 0xffffffff81000000ull + r % 0x1000000
                                 : XP_FILE_WORD(XP_WORD_CFI, 2 + r % 40, r % 0x1000000) | (i == KERNEL) * XP_WORD_EXACT;
    }
}

/* Samples a second, or 0 without memory. */
static double repeated(const struct sample *s, size_t n)
{
    struct aggregate *a __attribute__((cleanup(aggregate_free))) = NULL;
    if (aggregate_new(&a, 1, 256 << 20))
        return 0;
    for (size_t i = 0; i < STACKS; i++)
        aggregate_add(a, &s[i].head);
    u64 start = now_ns();
    for (size_t i = 0; i < n; i++)
        aggregate_add(a, &s[i * 7919 % STACKS].head);
    return (double)n * 1e9 / (double)(now_ns() - start);
}

/* `s` is changed: one word makes each stack another. */
static double unique(struct sample *s, size_t n)
{
    struct aggregate *a __attribute__((cleanup(aggregate_free))) = NULL;
    if (aggregate_new(&a, 1, (size_t)8 << 30))
        return 0;
    u64 start = now_ns();
    for (size_t i = 0; i < n; i++) {
        struct sample *x = &s[i * 7919 % STACKS];
        x->words[KERNEL] = XP_FILE_WORD(XP_WORD_CFI, 2, i) | XP_WORD_EXACT;
        aggregate_add(a, &x->head);
    }
    double took = (double)(now_ns() - start);
    size_t stacks;
    aggregate_stacks(a, &stacks);
    return stacks == n ? (double)n * 1e9 / took : 0;
}

static double hash_and_copy(struct sample *s, size_t n, u64 *sink)
{
    AUTO_FREE u64 *store = malloc(n * sizeof(s->words));
    if (!store)
        return 0;
    u64 start = now_ns();
    for (size_t i = 0; i < n; i++) {
        struct sample *x = &s[i * 7919 % STACKS];
        x->words[KERNEL] = XP_FILE_WORD(XP_WORD_CFI, 2, i) | XP_WORD_EXACT;
        *sink += hash_bytes(x->words, sizeof(x->words), 0);
        memcpy(store + i * WORDS, x->words, sizeof(x->words));
    }
    *sink += store[n / 2];
    return (double)n * 1e9 / (double)(now_ns() - start);
}

int main(int argc, char **argv)
{
    size_t n = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000000;
    AUTO_FREE struct sample *s = calloc(STACKS, sizeof(*s));
    if (!s)
        return 1;
    for (size_t i = 0; i < STACKS; i++)
        fill(&s[i], i);
    u64 sink = 0;
    double again = repeated(s, 5 * n), new = unique(s, n), reference = hash_and_copy(s, n, &sink);
    fprintf(stderr, "%zu samples of %d words; %llx\n", n, WORDS, (unsigned long long)sink);
    printf("aggregate repeated, %.2f M samples/s, hash + copy %.2f M samples/s, %.2fx, >= 5 M samples/s, %s\n",
           again / 1e6, reference / 1e6, again / reference, again >= 5e6 ? "pass" : "fail");
    printf("aggregate unique, %.2f M samples/s, hash + copy %.2f M samples/s, %.2fx, >= 1 M samples/s, %s\n", new / 1e6,
           reference / 1e6, new / reference, new >= 1e6 ? "pass" : "fail");
    return again && new &&reference ? 0 : 1;
}
