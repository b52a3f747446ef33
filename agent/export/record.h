/* Encodes a profile as bytes for the spool: labels and facts as strings and integers, then the pprof profile, gzipped.
 *
 *     u8 label count, then name NUL value NUL each; type NUL; u64 time, u64 duration, u64 size expanded; gzip
 *
 * It is compressed once, with level 1, when it is put: the disk holds a third of it, and Pyroscope takes it as it is.
 */
#pragma once
#include "base/buf.h"
#include "export/export.h"

/* What an exporter is given. Everything points into the record's bytes. */
struct export_profile {
    struct export_label labels[EXPORT_MAX_LABELS];
    size_t nlabels;
    const char *type;
    u64 time_ns, duration_ns;
    u64 raw_len; /* of the profile, expanded; as who wrote it says */
    const void *gz;
    size_t gz_len;
};

/* Appends. 0, -E2BIG or -ENOMEM. */
int record_encode(const struct export_item *item, struct buf *out);
/* 0 or -EBADMSG. */
int record_decode(const void *data, size_t len, struct export_profile *out);

/* The value, or NULL. */
const char *record_label(const struct export_profile *p, const char *name);
