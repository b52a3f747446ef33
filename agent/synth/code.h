/* The code that nobody has rows for: all gaps between covered spans, one behind the other in one space of u32 indices
 * (with one that is nobody's between them), and a byte of marks for each. Padding in front of a gap is no part of it; a
 * gap of padding is none.
 *
 * Everything else here counts in indices ("at"); addresses (pc) matter only where instructions name them.
 */
#pragma once
#include "synth/synth.h"
#include <stdbool.h>

enum code_mark {
    CODE_INSN = 1,      /* an instruction begins here */
    CODE_MID = 2,       /* inside of one */
    CODE_LEAD = 4,      /* a block begins here */
    CODE_ENTRY = 8,     /* a function begins here */
    CODE_ASKED = 16,    /* it is, or will be, looked at as a function */
    CODE_SWEPT = 32,    /* decoding the bytes one behind the other arrives here */
    CODE_WEAK = 64,     /* what says that a function begins here may mean a label in one */
    CODE_REFUSED = 128, /* ... as it did */
};
#define CODE_MAX_BYTES (1u << 27) /* indices fit where state.h numbers its bases */

struct code_gap {
    u64 start, end; /* addresses */
    u64 offset;     /* of start, in the file */
    const u8 *bytes;
    u32 base; /* index of start */
};

struct code_span {   /* a piece of executable code, covered or not */
    u64 offset, end; /* in the file */
    u64 addr;        /* of offset */
};

struct code {
    const struct elf_file *elf;
    const struct synth_span *covered; /* borrowed */
    size_t ncovered;
    VEC(struct code_span) executable; /* ascending, apart */
    VEC(struct code_gap) gaps;        /* ascending by address and by offset */
    u8 *marks;                        /* size of them */
    u32 size;
    size_t last; /* the gap that was found last */
    u64 gap_bytes;
};

/* 0, -ENODATA (no code without rows), -ENOSPC (more than max_bytes), -EINVAL (covered), -ENOMEM. */
int code_read(struct code *c, const struct elf_file *e, const struct synth_span *covered, size_t n, u64 max_bytes);
void code_free(struct code *c);

/* False: no gap holds this address. */
bool code_find(struct code *c, u64 pc, u32 *at);
/* The gap that an index (below c->size) lies in. */
const struct code_gap *code_gap_of(const struct code *c, u32 at);
static inline u64 code_pc(const struct code_gap *g, u32 at)
{
    return g->start + (at - g->base);
}
static inline const u8 *code_bytes(const struct code_gap *g, u32 at, size_t *left)
{
    *left = (size_t)(g->end - g->start) - (at - g->base);
    return g->bytes + (at - g->base);
}
/* The code with rows that holds an address; NULL: none. */
const struct synth_span *code_span_of(const struct code *c, u64 pc);
static inline bool code_covered(const struct code *c, u64 pc)
{
    return code_span_of(c, pc);
}
/* For qsort and bsearch of u32. */
int code_by_number(const void *a, const void *b);
/* Bytes of padding at the front of n: one int3, nop of any length, or pair of zeros; 0: none. */
size_t code_padding(const u8 *p, size_t n);
