/* Turns an aggregate into a profile by adding names; each file is queried once, for all of its offsets. */
#pragma once
#include "profile/aggregate.h"
#include "profile/profile.h"

struct names;

/* Where names come from; agent.c fills it in. `ctx` is handed through. */
struct name_source {
    void *ctx;
    bool raw; /* frames of files that have no names are left without a line, for others to name */
    /* What is known of a file: path as the process saw it, build ID in hex ("" = none). False: nothing. Borrowed. */
    bool (*file)(void *ctx, u32 file, const char **path, const char **build_id);
    /* Names of n ascending file offsets; `use` is called with them at once (they are gone when this returns).
     * 0, or -errno: the frames are then shown as [file+0xoffset] and the error is noted on the mapping. */
    int (*names)(void *ctx, u32 file, const u64 *offsets, size_t n, void (*use)(void *arg, const struct names *names),
                 void *arg);
    /* File offset -> virtual address of the ELF file (for pprof); identity when unknown. */
    u64 (*address)(void *ctx, u32 file, u64 offset);
    /* The executable segment that holds an offset, in the same addresses: first (page-aligned, as it is mapped) and
     * last, and the file offset of the first. False: unknown. May be NULL. Tools that look for symbols themselves, go
     * tool pprof among them, take a mapping's start for the segment's. */
    bool (*segment)(void *ctx, u32 file, u64 offset, u64 *first, u64 *last, u64 *first_offset);
    /* Name of a kernel address, its start, and its module ("" = the kernel itself); NULL = unknown. Borrowed. */
    const char *(*kernel)(void *ctx, u64 address, u64 *start, const char **module);
    /* The same for n ascending addresses in anonymous memory of a process: what a runtime says about the code that it
     * made. May be NULL. */
    int (*anonymous)(void *ctx, u32 tgid, u64 start, const u64 *addresses, size_t n,
                     void (*use)(void *arg, const struct names *names), void *arg);
};

/* Fills an empty profile with everything but what is about the recording; sorted, so that the order of samples does not
 * show. 0, or -ENOMEM: what is in `out` then is only good for profile_free. */
int symbolize(const struct aggregate *a, const struct name_source *src, struct profile *out);
