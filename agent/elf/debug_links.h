/* Reads the references to debug information in a file: whether it contains any, its identity, and links to separate
 * files. The result is sent from the parser process to its parent, which opens these files and compares their identity.
 *
 * Names and checksums are those of GNU's separate debug files: .gnu_debuglink (a file name, padded to 4 bytes, and the
 * CRC-32 of that file), .gnu_debugaltlink (a path and a build ID: what dwz moved out), .gnu_debugdata (an xz-compressed
 * ELF file with symbols only: "MiniDebugInfo"); see gdb's manual, "Separate Debug Files" and "MiniDebugInfo".
 */
#pragma once
#include "bpf/types.h"
#include <stdbool.h>
#include <stddef.h>

#define DEBUG_LINKS_MAGIC 0x314c4458u /* "XDL1" */
#define DEBUG_LINK_NAME   256
#define DEBUG_LINK_PATH   1024
#define DEBUG_LINK_ID     20 /* bytes; a longer build ID is truncated, as in struct elf_file */

enum debug_has {                             /* bits */
                 DEBUG_HAS_INFO = 1 << 0,    /* .debug_info with content */
                 DEBUG_HAS_SYMBOLS = 1 << 1, /* .symtab */
                 DEBUG_HAS_MINI = 1 << 2,    /* .gnu_debugdata */
                 DEBUG_IS_PACKAGE = 1 << 3,  /* a package of split units: .dwp */
};

struct debug_links {
    u32 magic, has;
    u32 crc; /* of the whole file, if requested */
    u32 link_crc;
    u8 build_id_len, alt_id_len, pad[2];
    u8 build_id[DEBUG_LINK_ID], alt_id[DEBUG_LINK_ID];
    char link[DEBUG_LINK_NAME]; /* "": none */
    char alt[DEBUG_LINK_PATH];  /* the same */
};
_Static_assert(sizeof(struct debug_links) == 60 + DEBUG_LINK_NAME + DEBUG_LINK_PATH, "no hidden padding");

/* Reads the file behind fd (borrowed). Returns 0; -ENOEXEC: not ELF64 x86-64; -EBADMSG; -ENOMEM; or another -errno.
 * Links that are too long or not terminated are ignored. Runs in the parser process. */
int debug_links_read(int fd, bool crc, struct debug_links *out);
struct elf_file;
void debug_links_of(const struct elf_file *e, bool crc, struct debug_links *out);
/* Checks a struct from another process: lengths, terminated texts. */
bool debug_links_sound(const void *data, size_t len);
