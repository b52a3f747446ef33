/* Stores what was read of a file's stretches (synth_read_stretches) as bytes, so that neither another parser process
 * nor the next agent reads them again.
 *
 *   struct stretch_image, rules (u64), ranges, numbers of the stretches (u32), rows (u32)
 *
 * A row has its offset from the start of its range in the low bits, the number of its rule above.
 */
#pragma once
#include "base/buf.h"
#include "synth/synth.h"

#define STRETCH_IMAGE_MAGIC   0x54535058u /* "XPST" */
#define STRETCH_IMAGE_VERSION 2           /* of the format; that of the analysis is part of the key */

struct stretch_image {
    u32 magic, version;
    u32 nwanted, nranges, nrules, nrows;
    u64 checksum; /* of all that follows it */
    struct synth_counts counts;
};
struct stretch_range {
    u64 offset; /* in the file */
    u32 len, nrows;
};

/* Appends the image. Returns 0; -E2BIG: there are more rules or stretches than an image can have; or
 * -ENOMEM. */
int stretch_image_write(const struct synth *found, const u32 *wanted, size_t n, struct buf *out);
/* Checks that an image is sound. `data` is aligned to 8 bytes. Returns 0 or -EBADMSG. */
int stretch_image_check(const void *data, size_t len);
/* Returns the numbers of the stretches in a sound image, ascending. */
const u32 *stretch_image_wanted(const void *data, size_t *n);
/* Fills an empty `out` from a sound image. Returns 0 or -ENOMEM. */
int stretch_image_read(const void *data, struct synth *out);

/* Identifies a file by what no container can choose: its inode, size and change time. `version`: of the analysis. */
void stretch_image_key(const u8 secret[16], u32 version, const struct xp_file_key *file, u8 out[16]);
