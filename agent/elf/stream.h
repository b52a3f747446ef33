/* Inflates a compressed section piece by piece (gABI, "Section Compression": a header with the method, then one zlib or
 * zstd stream).
 */
#pragma once
#include "elf/elf.h"

struct elf_stream;

/* *size is set to the size in the section's header, which is at most `cap` and plausible for the compressed size. The
 * section must outlive the stream. Returns 0; -EBADMSG; -ENOSPC: larger than cap; -ENOTSUP: unknown method; -ENOMEM. */
int elf_stream_new(struct elf_stream **out, const struct elf_section *s, size_t cap, u64 *size);
void elf_stream_free(struct elf_stream **z);
/* Reads exactly the next n bytes. Returns 0; -EBADMSG: the stream ends before, or is damaged. */
int elf_stream_read(struct elf_stream *z, u8 *out, size_t n);
/* Returns the start of the compressed bytes that were not consumed yet; the bytes before are no longer needed. */
const u8 *elf_stream_at(const struct elf_stream *z);
