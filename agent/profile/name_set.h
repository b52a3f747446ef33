/* A set of named places: (file, offset) -> frames, with each text once. It only grows, and is given up as a whole. */
#pragma once
#include "base/buf.h"
#include "base/vec.h"
#include "bpf/types.h"
#include "parser/parser.h"

struct named_place {
    u64 offset;
    u32 id;
    u32 first, n; /* in frames */
};

/* An index of numbers by the hash of what they stand for: number + 1, 0: free. It has no part of the hashes, as a
 * struct lookup has, which would take 8.6 MB in place of 7.0 for a virtual machine of 30,000 methods (bench/jvm.sh). */
struct name_slots {
    u32 *v;
    u32 n, cap; /* cap is a power of two */
};

struct name_set { /* all zero: empty */
    VEC(struct named_place) places;
    struct name_slots by_key;       /* rows in `places`, by (id, offset) */
    VEC(struct names_frame) frames; /* names are places in `strings` */
    struct buf strings;
    struct name_slots string_of; /* places in `strings`, by the text */
};

/* Returns NULL if it is not in the set. Valid until the next name_set_add. */
const struct named_place *name_set_find(const struct name_set *s, u32 id, u64 offset);
/* Adds a place that is not in the set, with n frames whose texts lie in `strings`; both must not be of this set.
 * Returns 0 or -ENOMEM; then the set must be given up. */
int name_set_add(struct name_set *s, u32 id, u64 offset, const struct names_frame *frames, u32 n, const char *strings);
/* Returns the bytes, at most, that name_set_add would take for a place that is not in the set. */
size_t name_set_cost(const struct name_set *s, const struct names_frame *frames, u32 n, const char *strings);
/* Returns the bytes in use, without those in reserve for more. */
size_t name_set_bytes(const struct name_set *s);
void name_set_free(struct name_set *s);
