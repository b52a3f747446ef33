/* Turns an aggregate into a profile by adding names; each file is queried once, for all of its offsets. */
#pragma once
#include "profile/aggregate.h"
#include "profile/profile.h"

struct names;

/* A source of names. `ctx` is passed to its functions. */
struct name_source {
    void *ctx;
    bool raw;       /* frames of files without names get no line, to be symbolized later */
    bool hide_idle; /* leave out blocked time of idle threads (locks.h) */
    /* Returns the path of a file as seen by the process and its build ID in hex ("": none), borrowed. False:
     * unknown. */
    bool (*file)(void *ctx, u32 file, const char **path, const char **build_id);
    /* Returns the ID under which the names of a file are requested for frames of a process: the file's own, or another
     * one, which `names` alone is called with. May be NULL. */
    u32 (*names_id)(void *ctx, u32 file, const struct agg_process *who);
    /* Returns when the names of a file are asked for: those with low numbers come first. May be NULL. */
    u64 (*rank)(void *ctx, u32 file);
    /* Finds the names of n ascending file offsets and calls `use` with them; they are valid during that call only.
     * Returns 0, or -errno: the frames are then shown as [file+0xoffset], and the error is stored in the mapping. */
    int (*names)(void *ctx, u32 file, const u64 *offsets, size_t n, void (*use)(void *arg, const struct names *names),
                 void *arg);
    /* Converts a file offset to a virtual address of the ELF file (for pprof); identity if unknown. */
    u64 (*address)(void *ctx, u32 file, u64 offset);
    /* Finds the executable segment that contains an offset, in the same addresses: first (page-aligned, as mapped) and
     * last, and the file offset of the first. False: unknown. May be NULL. Tools that look up symbols themselves, such
     * as go tool pprof, assume that a mapping starts where the segment starts. */
    bool (*segment)(void *ctx, u32 file, u64 offset, u64 *first, u64 *last, u64 *first_offset);
    /* Returns the name of a kernel address (borrowed), its start, and its module ("": the kernel itself); NULL:
     * unknown. */
    const char *(*kernel)(void *ctx, u64 address, u64 *start, const char **module);
    /* The same as `names` for n frames of a runtime of a process, of two words each, ascending (bpf/hotspot.h). May be
     * NULL. */
    int (*runtime)(void *ctx, u32 tgid, u64 start, const u64 *words, size_t n,
                   void (*use)(void *arg, const struct names *names), void *arg);
    /* The same as `names` for n ascending addresses in anonymous memory of a process, from the maps that runtimes write
     * for generated code. May be NULL. */
    int (*anonymous)(void *ctx, u32 tgid, u64 start, const u64 *addresses, size_t n,
                     void (*use)(void *arg, const struct names *names), void *arg);
};

/* Fills an empty profile with everything except the data about the recording. Sorted, so that the result does not
 * depend on the order of samples. Returns 0; -ENOMEM: `out` is then incomplete and can only be freed. */
int symbolize(const struct aggregate *a, const struct name_source *src, struct profile *out);
