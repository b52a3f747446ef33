/* Reads a pprof profile that was recorded without names (record --raw), to add symbols to it later, on any machine.
 * Hostile input is normal: whatever an id refers to is checked, and the file's size bounds all.
 *
 *     recorded_read -> the profile with those names that the file holds, and the frames that have none
 *     recorded_name -> asks for the rest
 */
#pragma once
#include "profile/profile.h"
#include "profile/symbolize.h"

#define RECORDED_MAX_BYTES ((size_t)1 << 30) /* inflated */

struct recorded_file {
    char *path;            /* owned, as the recorded process saw it */
    char build_id[41];     /* hex; "": unknown */
    u64 lo, hi, lo_offset; /* the mapping: first and last address, file offset of the first */
    size_t unnamed;        /* locations without a name */
};
struct recorded {
    VEC(struct recorded_file) files; /* number i has the id XP_FILE_FIRST + i in the words */
    VEC(u64) words;                  /* of profile.locations, the same rows; 0: it has names, or cannot have any */
};
void recorded_free(struct recorded *r);

/* `data`: gzipped or plain. Fills an empty profile. 0; -EBADMSG, -EFBIG, -ENOMEM; -ENOTSUP: no kind of sample that
 * xprof knows. One line in why[]. */
int recorded_read(const void *data, size_t len, struct profile *out, struct recorded *r, char *why, size_t why_len);
/* Names the locations that have no name; what the source does not know is named by file and offset. 0 or -ENOMEM. */
int recorded_name(struct profile *p, const struct recorded *r, const struct name_source *source);
