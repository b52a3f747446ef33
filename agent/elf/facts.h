/* Describes an ELF file, for xprof inspect and for converting its addresses to file offsets. The description is sent
 * from the parser process to its parent.
 */
#pragma once
#include "bpf/types.h"
#include <stdbool.h>
#include <stddef.h>

#define FACTS_MAGIC    0x31434658u /* "XFC1" */
#define FACTS_SEGMENTS 8           /* executable segments; a file has one, rarely two */

struct facts_segment {
    u64 offset, vaddr, size; /* file-backed part */
};
struct facts {
    u32 magic;
    u16 type;     /* ET_EXEC, ET_DYN, ... */
    u8 dynamic;   /* needs a dynamic linker */
    u8 nsegments; /* number of listed segments */
    u64 size;     /* of the file */
    u32 symbols, dynamic_symbols;
    char language[16]; /* probable main language: "C++"; "": unknown */
    struct facts_segment segments[FACTS_SEGMENTS];
};
_Static_assert(sizeof(struct facts) == 40 + FACTS_SEGMENTS * 24, "no hidden padding");

/* Reads the file behind fd (borrowed). Returns 0, -ENOEXEC, -EBADMSG, -ENOMEM or another -errno. Runs in the parser
 * process. */
int facts_read(int fd, struct facts *out);
/* Checks a struct from another process. */
bool facts_sound(const void *data, size_t len);

/* Convert between virtual addresses of the file and file offsets; false: there is no code. */
bool facts_offset(const struct facts *f, u64 address, u64 *offset);
bool facts_address(const struct facts *f, u64 offset, u64 *address);
