/* The code of a file that has no rows yet: the gaps between the spans that other sources cover. Each byte of a gap has
 * a u32 index (consecutive, with one unused index between gaps) and a byte of flags, its marks. Padding at the start of
 * a gap does not belong to it; a gap that consists of padding is ignored.
 *
 * All other functions use indices ("at"); addresses (pc) are used only where instructions contain them.
 */
#pragma once
#include "synth/synth.h"
#include <stdbool.h>

enum code_mark {
    CODE_INSN = 1,      /* an instruction begins here */
    CODE_MID = 2,       /* inside of one */
    CODE_LEAD = 4,      /* a block begins here */
    CODE_ENTRY = 8,     /* a function begins here */
    CODE_ASKED = 16,    /* it is, or will be, followed as a function */
    CODE_SWEPT = 32,    /* linear decoding reaches this byte */
    CODE_WEAK = 64,     /* the reference to this function may also be to a label in a function */
    CODE_REFUSED = 128, /* ... and it is one */
};
#define CODE_MAX_BYTES (1u << 27) /* indices fit into the bases of state.h */

struct code_gap {
    u64 start, end; /* addresses */
    u64 offset;     /* of start, in the file */
    const u8 *bytes;
    u32 base; /* index of start */
};

struct code_span {   /* a range of executable code, covered or not */
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
    size_t last; /* the last gap found */
    u64 gap_bytes;
};

/* Returns 0; -ENODATA: all code has rows; -ENOSPC: more than max_bytes; -EINVAL: `covered` is invalid; -ENOMEM. */
int code_read(struct code *c, const struct elf_file *e, const struct synth_span *covered, size_t n, u64 max_bytes);
/* The same without marks: only the gaps, up to 1 << 31 bytes. */
int code_list(struct code *c, const struct elf_file *e, const struct synth_span *covered, size_t n, u64 max_bytes);
void code_free(struct code *c);

/* Returns false if no gap contains this address. */
bool code_find(struct code *c, u64 pc, u32 *at);
/* Returns the gap that contains an index (below c->size). */
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
/* Finds the covered span that contains an address; NULL: none. */
const struct synth_span *code_span_of(const struct code *c, u64 pc);
static inline bool code_covered(const struct code *c, u64 pc)
{
    return code_span_of(c, pc);
}
/* Compares two u32, for qsort and bsearch. */
int code_by_number(const void *a, const void *b);
/* Returns the size of the padding at the start of n bytes: an int3, a nop of any length, or a pair of zeros; 0:
 * none. */
size_t code_padding(const u8 *p, size_t n);
