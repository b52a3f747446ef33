/* Reads a pprof profile that was recorded without names (record --raw), to add symbols to it later, on any machine. The
 * input is not trusted: all IDs are checked, and the size of the file limits everything.
 *
 *     recorded_read -> the profile with the names in the file, and the frames without names
 *     recorded_name -> queries the missing names
 */
#pragma once
#include "profile/profile.h"
#include "profile/symbolize.h"

#define RECORDED_MAX_BYTES ((size_t)1 << 30) /* uncompressed */

struct recorded_file {
    char *path;            /* owned, as the recorded process saw it */
    char build_id[41];     /* hex; "": unknown */
    u64 lo, hi, lo_offset; /* the mapping: first and last address, file offset of the first */
    size_t unnamed;        /* locations without a name */
};
struct recorded {
    VEC(struct recorded_file) files; /* file i has the ID XP_FILE_FIRST + i in the words */
    VEC(u64) words;                  /* same rows as profile.locations; 0: has names, or cannot have any */
};
void recorded_free(struct recorded *r);

/* Fills an empty profile from `data`, gzipped or plain. Returns 0, or an error and one line in why[]: -EBADMSG, -EFBIG,
 * -ENOMEM; -ENOTSUP: unknown kinds of samples. */
int recorded_read(const void *data, size_t len, struct profile *out, struct recorded *r, char *why, size_t why_len);
/* Symbolizes the locations without names; those unknown to the source are named by file and offset. Returns 0 or
 * -ENOMEM. */
int recorded_name(struct profile *p, const struct recorded *r, const struct name_source *source);
