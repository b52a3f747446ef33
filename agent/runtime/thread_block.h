/* What C libraries keep of a thread behind its TLS base, and where its variables are found from there.
 *
 *   glibc    struct pthread: itself, the vector of blocks (dtv), itself again; the values of the first 32 keys of
 *            pthread_setspecific (specific_1stblock), and pointers to blocks of as many
 *   musl     struct pthread: itself, the vector of blocks; a pointer to an array of values (tsd)
 *
 * The vector has a number, and then a pointer to the block of each module: each 16 bytes in glibc, each 8 in musl.
 */
#pragma once
#include "proc/memory.h"
#include "runtime/sound.h"

#define GLIBC_FIRST  0x318 /* the value of key 0; a value each 16 bytes */
#define GLIBC_BLOCKS 0x510 /* pointers to blocks of values, of keys from 32 on */

#define THREAD_MODULES   64        /* entries of the vector that are looked at */
#define THREAD_STATIC    (1 << 20) /* blocks that are farther away are elsewhere in each thread */
#define THREAD_BYTES_MAX 4096      /* of a block that are looked at */

static inline bool thread_block_is(struct memory *m, u64 tls)
{
    bool ok = tls && tls < MAX_ADDRESS && tls % 8 == 0;
    return memory_u(m, tls, sizeof(u64), &ok) == tls && ok;
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
