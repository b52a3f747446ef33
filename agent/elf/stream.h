/* Inflates a compressed section piece by piece (gABI, "Section Compression": a header that says how, then one zlib or
 * zstd stream).
 */
#pragma once
#include "elf/elf.h"

struct elf_stream;

/* `size` is what the section's header claims, at most `cap` and not more than its bytes can become. 0, -EBADMSG,
 * -ENOSPC (above cap), -ENOTSUP (unknown method), -ENOMEM. The section must stay. */
int elf_stream_new(struct elf_stream **out, const struct elf_section *s, size_t cap, u64 *size);
void elf_stream_free(struct elf_stream **z);
/* Exactly the next n bytes. 0, -EBADMSG (it ends before, or is damaged). */
int elf_stream_read(struct elf_stream *z, u8 *out, size_t n);
/* Where the bytes begin that it has not taken yet; those in front of it are of no more use. */
const u8 *elf_stream_at(const struct elf_stream *z);
