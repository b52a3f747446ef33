/* Unpacks MiniDebugInfo: .gnu_debugdata, an xz-compressed ELF file inside of a stripped one, which has the function
 * symbols that .dynsym lacks (gdb's manual, "MiniDebugInfo"). Fedora and its kin ship every program so.
 */
#pragma once
#include "elf/elf.h"

#define MINI_DEBUG_MAX ((size_t)32 << 20) /* bytes, inflated; that of a browser has 8 MB */

/* Opens the embedded file, which lies in `bytes` (elf_bytes_free, after elf_close). 0, -ENODATA (there is none),
 * -EBADMSG, -ENOSPC (above MINI_DEBUG_MAX), -ENOMEM. */
int mini_debug_open(const struct elf_file *e, struct elf_bytes *bytes, struct elf_file *out);
