/* The memory of e2e/python/hostile.c: a crafted interpreter, and what is added to it. */
#pragma once
#include "runtime/python_crafted.h"
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#define FAR       0x20000ull /* beyond what is crafted */
#define FAR_BYTES (32ull << 20)

static struct crafted sound;
static const struct crafted_version *v;
static u8 *const memory = (u8 *)CRAFTED_MODULE - CRAFTED_MODULE;
static u64 tls, state, frame, outer, code, name, far_top = FAR; /* of the thread that runs */

static inline void put(u64 at, u64 value, unsigned n)
{
    memcpy((void *)at, &value, n);
}

static inline u64 get(u64 at)
{
    u64 value;
    memcpy(&value, (void *)at, sizeof(value));
    return value;
}

static inline void stop(const char *what)
{
    perror(what);
    exit(2);
}

static inline u32 random_32(void)
{
    static u64 seed = 1;
    seed = seed * 6364136223846793005ull + 1442695040888963407ull;
    return (u32)(seed >> 32);
}

/* ---- Memory beyond what is crafted */

static inline void map_far(int protection)
{
    if (mmap((void *)FAR, FAR_BYTES, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) ==
        MAP_FAILED)
        stop("mmap");
}

static inline u64 far_alloc(u64 n)
{
    u64 at = far_top;
    if (at == FAR)
        map_far(PROT_READ | PROT_WRITE);
    far_top += (n + 15) & ~15ull;
    if (far_top > FAR + FAR_BYTES)
        stop("far_alloc");
    return at;
}

static inline u64 far_copy(u64 from, u64 n)
{
    u64 at = far_alloc(n);
    memcpy((void *)at, (void *)from, n);
    return at;
}

/* A text that says of itself to have so many characters, of so many bytes. */
static inline void claim(u64 str, u64 length, u32 kind, u32 flags)
{
    put(str + v->header, length, 8);
    put(str + v->header + 16u, 1 | (kind | flags) << v->kind_shift, 4);
}

static inline u64 new_code(u64 name)
{
    u64 at = far_copy(code, 256);
    put(at + v->code_names + 16u, name, 8);
    return at;
}

static inline u64 new_frame(u64 code, u64 back)
{
    u64 at = far_copy(frame, 128);
    put(at + v->frame_code, code, 8);
    put(at + v->frame_back, back, 8);
    return at;
}

/* A second frame below that which is looked at before the process is believed. */
static inline void call_from(u64 code)
{
    put(frame + v->frame_back, new_frame(code, outer), 8);
}
