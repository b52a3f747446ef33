/* Unpacks MiniDebugInfo: .gnu_debugdata, an xz-compressed ELF file inside of a stripped one, which has the function
 * symbols that .dynsym lacks (gdb's manual, "MiniDebugInfo"). Fedora and related distributions ship all programs like
 * this.
 */
#pragma once
#include "elf/elf.h"

#define MINI_DEBUG_MAX ((size_t)32 << 20) /* uncompressed bytes; that of a browser has 8 MB */

/* Opens the embedded file, whose contents are in `bytes` (release with elf_bytes_free after elf_close). Returns 0;
 * -ENODATA: there is none; -EBADMSG; -ENOSPC: larger than MINI_DEBUG_MAX; -ENOMEM. */
int mini_debug_open(const struct elf_file *e, struct elf_bytes *bytes, struct elf_file *out);
