/* Sections with CFI that were found in the memory of a process. */
#pragma once
#include "base/vec.h"
#include "proc/memory.h"

#define SECTIONS_MAX       4096
#define SECTIONS_MAX_BYTES ((size_t)64 << 20) /* of all */

struct section {
    u64 at; /* its address */
    u8 *bytes;
    size_t len;
    bool debug; /* .debug_frame */
};
struct sections {
    VEC(struct section) list;
    size_t bytes;
};

/* Copies the section. False: there is no room. */
bool sections_add(struct sections *s, u64 at, const void *bytes, size_t len, bool debug);
void sections_free(struct sections *s);

/* Finds the sections of .eh_frame in the memory of the process that are about its generated code. */
void sections_search(struct sections *s, struct memory *m);
/* Finds the first such section in `len` bytes that were read at address `at`, from *pos on. *steps: how many entries
 * may still be followed. Returns its length and moves *pos to its start; 0: there is none. */
size_t sections_next(const struct memory *m, u64 at, const u8 *bytes, size_t len, size_t *pos, u64 *steps);
