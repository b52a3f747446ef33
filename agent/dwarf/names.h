/* Finds the names of file offsets: from .symtab and .dynsym, demangled; with inlined calls, files and lines if there is
 * a line index (dwarf/dwarf.h). The reply is sent from the parser process to its parent.
 */
#pragma once
#include "base/buf.h"
#include "bpf/types.h"
#include <stdbool.h>
#include <stddef.h>

#define NAMES_MAGIC 0x314d4e58u /* "XNM1" */

/* Or-ed to an offset, it is one of data, which counts on beyond the end of the file in .bss. */
#define NAMES_DATA (1ull << 63)

/* Then: u32 first[n + 1] (frames of offset i: first[i]..first[i+1]), padded to 8 bytes; frames; strings. */
struct names_header {
    u32 magic;
    u32 n; /* requested offsets, in their order */
    u32 nframes;
    u32 strings; /* bytes; each name is NUL-terminated UTF-8 */
    u32 cut;     /* not 0: a limit was reached, so some names lack inlined callers or lines */
    u32 pad;
};
/* Returns the offset of the frames: a multiple of 8 bytes, because they start with a u64. */
static inline size_t names_frames_at(size_t n)
{
    return (sizeof(struct names_header) + 4 * (n + 1) + 7) & ~(size_t)7;
}
struct names_frame { /* innermost (inlined) first */
    u64 start;       /* file offset of the function's entry; if inlined, that of the enclosing function. Of data: the
                        distance from the start of the variable; without name, the link-time address */
    u32 name;        /* offset in strings; demangled, without compiler suffixes for clones and cold parts */
    u32 system_name; /* as in the symbol table */
    u32 file;        /* source file; 0 = the empty string = unknown */
    u32 line;        /* line of the address, or of the call of the previous frame; 0: unknown */
};

/* Descriptors, borrowed, opened O_RDONLY; -1: none. */
struct names_fds {
    int file;
    int index;        /* of its line index */
    int symbols;      /* its debug file, with the stripped symbols */
    int names;        /* of its name index (dwarf/name_index.h); then the file and its debug file are not read */
    bool short_names; /* DEMANGLE_SHORT (dwarf/demangle.h) */
};
#define NAMES_FDS_OF(fd)                                      \
    {                                                         \
        .file = (fd), .index = -1, .symbols = -1, .names = -1 \
    }

/* Finds the names of n file offsets of an ELF file, perhaps some of data (NAMES_DATA), and appends the reply to `out`.
 * An offset without symbol is one frame with an empty name, whose start is that of its FDE, or the offset itself if
 * there is no FDE. Returns 0, -ENOEXEC, -EBADMSG or -ENOMEM. Runs in the parser process. */
int names_resolve(const struct names_fds *f, const u64 *offsets, size_t n, struct buf *out);
/* Builds the name index of the file: malloc'ed, owned by the caller. `runtime`: a runtime has names for it, too.
 * Returns 0; -ENOEXEC; -EBADMSG; -ENOSPC: the file is beyond a limit; -ENOMEM. Runs in the parser process. */
int names_index_fds(const struct names_fds *f, bool runtime, void **out, size_t *len);
/* Tells whether a runtime may have names of the file with this name index; true also if that cannot be known. */
bool names_in_runtime(int names);

/* A checked view of a reply: all indexes are inside. Borrowed from the bytes. */
struct names {
    const u32 *first;
    const struct names_frame *frames;
    const char *strings;
    u32 n;
};
/* `reply` is aligned to 8 bytes; `n` is the number of requested offsets. The strings are terminated, but not checked to
 * be UTF-8. Returns 0 or -EBADMSG. */
int names_view(const void *reply, size_t len, size_t n, struct names *out);
