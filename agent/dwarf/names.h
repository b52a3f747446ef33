/* Finds the names of file offsets: .symtab, .dynsym, demangled; with inlined calls, files and lines when there is a
 * line index (dwarf/dwarf.h). The reply crosses from the parser process to its parent.
 */
#pragma once
#include "base/buf.h"
#include "bpf/types.h"
#include <stdbool.h>
#include <stddef.h>

#define NAMES_MAGIC 0x314d4e58u /* "XNM1" */

/* Then: u32 first[n + 1] (frames of offset i: first[i]..first[i+1]), padded to 8 bytes; frames; strings. */
struct names_header {
    u32 magic;
    u32 n; /* offsets asked for, in their order */
    u32 nframes;
    u32 strings; /* bytes; each name is NUL-terminated UTF-8 */
    u32 cut;     /* not 0: a limit was hit, and some names lack inlined callers or lines */
    u32 pad;
};
/* Where the frames begin: at a multiple of 8 bytes, for they begin with a u64. */
static inline size_t names_frames_at(size_t n)
{
    return (sizeof(struct names_header) + 4 * (n + 1) + 7) & ~(size_t)7;
}
struct names_frame { /* innermost (inlined) first */
    u64 start;       /* file offset of the function's entry, of an inlined one's that of the function around it */
    u32 name;        /* byte in strings; demangled, without what compilers add to names of clones and cold parts */
    u32 system_name; /* as in the symbol table */
    u32 file;        /* source file; 0 = the empty string = unknown */
    u32 line;        /* executed, or of the call of the frame in front; 0 = unknown */
};

/* Descriptors, borrowed, opened O_RDONLY; -1: not there. */
struct names_fds {
    int file;
    int index;        /* of its line index */
    int symbols;      /* its debug file, with the symbols that were stripped */
    bool short_names; /* DEMANGLE_SHORT (dwarf/demangle.h) */
};
#define NAMES_FDS_OF(fd)                          \
    {                                             \
        .file = (fd), .index = -1, .symbols = -1, \
    }

/* Names each of n file offsets of an ELF file. One without symbol, but covered by an FDE, is one frame with an empty
 * name whose start is the FDE's; one covered by nothing has start = the offset itself. Appends the reply to `out`. 0,
 * -ENOEXEC, -EBADMSG, -ENOMEM. Runs in the parser process. */
int names_resolve(const struct names_fds *f, const u64 *offsets, size_t n, struct buf *out);

/* A checked view of a reply: no index leaves it. Borrowed from the bytes. */
struct names {
    const u32 *first;
    const struct names_frame *frames;
    const char *strings;
    u32 n;
};
/* `reply` is aligned to 8 bytes. The strings are terminated, but UTF-8 only as far as their writer is trusted.
 * 0 or -EBADMSG; `n` is how many offsets were asked for. */
int names_view(const void *reply, size_t len, size_t n, struct names *out);
