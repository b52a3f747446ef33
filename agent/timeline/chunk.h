/* Events of one CPU in a row of bytes. Each is a byte of type and flags, the time since the one before, and what its
 * type has, in LEB128 numbers; the thread that the CPU had so far is left out.
 */
#pragma once
#include "timeline/machine.h"
#include <stdbool.h>

#define TL_CHUNK_BYTES (16u << 10)

struct tl_chunk {
    struct tl_chunk *next;
    u64 first, last; /* times */
    u32 current;     /* thread that the CPU has when it begins, and when it ends */
    u32 current_end;
    u32 used, events;
    u8 data[TL_CHUNK_BYTES];
};
struct tl_cursor {
    const struct tl_chunk *chunk;
    u32 at, current, cpu;
    u64 time;
};

/* Appends an event. False: it is full. The first one says when the chunk begins. */
bool chunk_add(struct tl_chunk *c, const struct tl_event *e);
struct tl_cursor chunk_start(const struct tl_chunk *c, u32 cpu);
/* Reads the next event; goes on with the next chunk if `all`. False: there is none. */
bool chunk_next(struct tl_cursor *at, bool all, struct tl_event *out);
