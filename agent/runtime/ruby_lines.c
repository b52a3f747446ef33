/* From an instruction to its line. Each line has an entry in a list. Which entry an instruction has is the number of
 * positions up to it where an entry begins; these are bits: the numbers themselves for the first ones, 7 bits each,
 * then blocks of 512 bits with the numbers before them (struct succ_index_table in iseq.c).
 */
#include "runtime/ruby_internal.h"

#define FIRST       54 /* positions whose numbers are kept themselves */
#define FIRST_WORDS 6
#define BLOCK       80 /* bytes: rank, ranks of its words in 9 bits each, 8 words */
#define MAX_LINES   (1u << 22)

static u32 rank_of(struct memory *m, u64 table, u32 at, bool *ok)
{
    if (at < FIRST)
        return memory_u(m, table + 8 * (at / 9), sizeof(u64), ok) >> (at % 9 * 7) & 127;
    u64 block = table + 8 * FIRST_WORDS + (u64)BLOCK * ((at - FIRST) / 512);
    u32 bit = (at - FIRST) % 512, word = bit / 64;
    u32 rank = (u32)memory_u(m, block, sizeof(u32), ok);
    u64 ranks = memory_u(m, block + 8, sizeof(u64), ok), bits = memory_u(m, block + 16 + 8 * word, sizeof(u64), ok);
    return rank + (word ? ranks >> (word - 1) * 9 & 511 : 0) + (u32)__builtin_popcountll(bits << (63 - bit % 64));
}

/* A frame has the address of the instruction that follows the one that it executes. */
u32 ruby_line(struct ruby_query *q, const struct ruby_code *c, u32 position)
{
    const struct ruby_layout *l = &q->r->layout;
    bool ok = c->body != 0;
    u64 info = c->body + l->info, list = memory_u(q->m, info, sizeof(u64), &ok),
        table = memory_u(q->m, info + 24, sizeof(u64), &ok);
    u32 n = (u32)memory_u(q->m, info + 16, sizeof(u32), &ok), at = position / 8, rank = 1;
    if (!ok || !n || n > MAX_LINES || at > c->size)
        return 0;
    if (n > 1)
        rank = rank_of(q->m, table, at ? at - 1 : 0, &ok);
    u64 line = ok && rank && rank <= n ? memory_u(q->m, list + (u64)l->info_bytes * (rank - 1), sizeof(u32), &ok) : 0;
    return ok && line <= INT32_MAX ? (u32)line : 0;
}
