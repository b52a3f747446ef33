/* What C libraries keep of a thread behind its TLS base (x86-64): the values of its keys of pthread_setspecific, and
 * where its variables are found from there.
 *
 *   glibc    struct pthread: itself, the vector of blocks (dtv), itself again; the values of the first 32 keys
 *            (specific_1stblock), and pointers to blocks of as many
 *   musl     struct pthread: itself, the vector of blocks; a pointer to an array of values (tsd)
 *
 * The vector has a number, and then a pointer to the block of each module: each 16 bytes in glibc, each 8 in musl.
 */
#pragma once
#include "proc/memory.h"
#include "runtime/sound.h"

#define GLIBC_SELF     0x10  /* the TLS base once more */
#define GLIBC_FIRST    0x318 /* the value of key 0; a value each 16 bytes */
#define GLIBC_BLOCKS   0x510 /* pointers to blocks of values, of keys from 32 on */
#define GLIBC_END      0x610
#define GLIBC_KEYS     32 /* of a block */
#define GLIBC_BLOCK    512
#define GLIBC_IN_BLOCK 8     /* the value of the first key of a block */
#define GLIBC_MAX_KEYS 1024  /* of a process */
#define MUSL_POINTERS  0x120 /* where the pointer to the values is, at most */
#define MUSL_VALUES    1024  /* bytes */

#define THREAD_MODULES   64        /* entries of the vector that are looked at */
#define THREAD_STATIC    (1 << 20) /* blocks that are farther away are elsewhere in each thread */
#define THREAD_BYTES_MAX 4096      /* of a block that are looked at */

static inline bool thread_block_is(struct memory *m, u64 tls)
{
    bool ok = tls && tls < MAX_ADDRESS && tls % 8 == 0;
    return memory_u(m, tls, sizeof(u64), &ok) == tls && ok;
}

/* Where a thread has a value, as struct xp_script has it. */
struct thread_place {
    u32 tls;  /* from the TLS base on */
    u32 slot; /* 0: the value is there; else a pointer, and the value is so many bytes behind that, and one */
};

/* The place of the value of a key in glibc. */
static inline struct thread_place thread_block_glibc(u32 key)
{
    u32 in_block = 16 * (key % GLIBC_KEYS);
    if (key < GLIBC_KEYS)
        return (struct thread_place){GLIBC_FIRST + in_block, 0};
    return (struct thread_place){GLIBC_BLOCKS + 8 * (key / GLIBC_KEYS), in_block + GLIBC_IN_BLOCK + 1};
}

/* The value that a thread has in a place; 0: none, or it cannot be read. */
static inline u64 thread_block_value(struct memory *m, u64 tls, struct thread_place p, bool *ok)
{
    u64 at = memory_u(m, tls + p.tls, sizeof(u64), ok);
    if (p.slot)
        at = at && at % 8 == 0 ? memory_u(m, at + p.slot - 1, sizeof(u64), ok) : 0;
    return at;
}

/* Calls `use` with the places, from the TLS base on, of keys that have this value in glibc. True: it returned that. */
static inline bool thread_block_keys(struct memory *m, u64 tls, u64 value, bool (*use)(void *arg, s64 offset),
                                     void *arg)
{
    for (u32 offset = GLIBC_FIRST; offset < GLIBC_BLOCKS; offset += 16) {
        bool ok = true;
        if (memory_u(m, tls + offset, sizeof(u64), &ok) == value && ok && use(arg, offset))
            return true;
    }
    return false;
}

/* The same with thread-local variables of modules that have so many bytes of them. */
static inline bool thread_block_variables(struct memory *m, u64 tls, u64 bytes, u64 value,
                                          bool (*use)(void *arg, s64 offset), void *arg)
{
    bool ok = true;
    u64 vector = memory_u(m, tls + 8, sizeof(u64), &ok), end = bytes < THREAD_BYTES_MAX ? bytes : THREAD_BYTES_MAX;
    for (u32 i = 1; ok && i < 2 * THREAD_MODULES; i++) {
        u64 block = memory_u(m, vector + 8 * i, sizeof(u64), &ok);
        if (!ok || block + THREAD_STATIC - tls >= 2 * THREAD_STATIC)
            continue;
        for (u32 at = 0; at + 8 <= end; at += 8) {
            bool there = true;
            if (memory_u(m, block + at, sizeof(u64), &there) == value && there && use(arg, (s64)(block + at - tls)))
                return true;
        }
    }
    return false;
}
