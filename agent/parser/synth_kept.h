/* What the parser process knows of the stretches of one file (synth_read_stretches): those of the last file stay in its
 * memory, and an image of them (synth/stretch_image.h) is kept by its parent.
 */
#pragma once
#include "base/buf.h"
#include "elf/elf.h"
#include "synth/synth.h"

struct synth_kept;
void synth_kept_free(struct synth_kept **kept);
/* Sets *kept to what is known of the file behind fd. If that is nothing, it begins with the image behind `image`; -1,
 * or an image that is not sound: empty. Returns 0 or -errno. */
int synth_kept_find(struct synth_kept **kept, int fd, int image);
/* Reads those of the wanted stretches that were not read before. Returns 0, or the error of synth_read_stretches. */
int synth_kept_read(struct synth_kept *k, const struct elf_file *elf, const struct synth_span *covered, size_t ncovered,
                    const u32 *wanted, size_t n);
const struct synth *synth_kept_found(const struct synth_kept *k);
/* Appends the image. Returns 0, or the error of stretch_image_write. */
int synth_kept_write(const struct synth_kept *k, struct buf *out);
