/* Encodes a profile as bytes for the spool: labels and facts as strings and integers, then the pprof profile, gzipped.
 *
 *     u8 label count, then name NUL value NUL each; type NUL; u64 time, u64 duration, u64 size expanded; gzip
 *
 * The profile is compressed once, with level 1, when it is put: it takes a third of the space on disk, and Pyroscope
 * accepts it unchanged.
 */
#pragma once
#include "base/buf.h"
#include "export/export.h"

/* A profile as passed to exporters. Everything points into the bytes of the record. */
struct export_profile {
    struct export_label labels[EXPORT_MAX_LABELS];
    size_t nlabels;
    const char *type;
    u64 time_ns, duration_ns;
    u64 raw_len; /* uncompressed size of the profile, as recorded by the writer */
    const void *gz;
    size_t gz_len;
};

/* Appends the record. Returns 0, -E2BIG or -ENOMEM. */
int record_encode(const struct export_item *item, struct buf *out);
/* 0 or -EBADMSG. */
int record_decode(const void *data, size_t len, struct export_profile *out);

/* Returns the value of a label, or NULL. */
const char *record_label(const struct export_profile *p, const char *name);
