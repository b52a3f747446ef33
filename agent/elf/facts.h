/* Describes an ELF file: for people who ask why a file is named and unwound as it is (xprof inspect), and for
 * converting its addresses to file offsets. It crosses from the parser process to its parent.
 */
#pragma once
#include "bpf/types.h"
#include <stdbool.h>
#include <stddef.h>

#define FACTS_MAGIC    0x31434658u /* "XFC1" */
#define FACTS_SEGMENTS 8           /* executable ones; a file has one, rarely two */

struct facts_segment {
    u64 offset, vaddr, size; /* bytes that the file backs */
};
struct facts {
    u32 magic;
    u16 type;     /* ET_EXEC, ET_DYN, ... */
    u8 dynamic;   /* it needs a dynamic linker */
    u8 nsegments; /* that are listed */
    u64 size;     /* of the file */
    u32 symbols, dynamic_symbols;
    char language[16]; /* that most of it seems to be written in: "C++"; "" = no idea */
    struct facts_segment segments[FACTS_SEGMENTS];
};
_Static_assert(sizeof(struct facts) == 40 + FACTS_SEGMENTS * 24, "no hidden padding");

/* Of the file behind fd (borrowed). 0, -ENOEXEC, -EBADMSG, -ENOMEM, -errno. Runs in the parser process. */
int facts_read(int fd, struct facts *out);
/* Is this one, from another process, sound? */
bool facts_sound(const void *data, size_t len);

/* The file offset of an address as the file counts it; false: no code is there. */
bool facts_offset(const struct facts *f, u64 address, u64 *offset);
bool facts_address(const struct facts *f, u64 offset, u64 *address);
