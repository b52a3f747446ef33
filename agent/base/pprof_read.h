/* A pprof profile (profile.proto of google/pprof) taken apart for those who write it down in another form: which bytes
 * are which message, and where an id stands in its table. The messages themselves are read as they are needed.
 * Everything is bounded and nothing is believed: indices are checked by who follows them, through these functions.
 */
#pragma once
#include "base/cursor.h"
#include "base/map.h"

enum { PPROF_MAX_ITEMS = 1 << 20 }; /* of each kind */

struct cursor_list {
    struct cursor *v;
    size_t n, cap;
};

struct pprof {
    struct cursor_list sample_types, samples, mappings, locations, functions, strings;
    struct map mapping_ids, location_ids, function_ids; /* id -> place in its list + 1 */
    struct cursor period_type;                          /* empty: none */
    uint64_t time_ns, duration_ns, period;
};

/* 0; -EBADMSG: malformed; -E2BIG: beyond PPROF_MAX_ITEMS; -ENOMEM. Points into data. To be freed in every case. */
int pprof_read(struct pprof *out, const void *data, size_t len);
void pprof_free(struct pprof *p);

/* Place + 1 of an id; 0: id 0, or nobody has it. */
uint64_t pprof_place(const struct map *ids, uint64_t id);

/* One field of a protocol buffers message. */
struct pb_field {
    unsigned number, wire;
    uint64_t value;      /* varint, fixed */
    struct cursor bytes; /* length-delimited */
};
enum { PB_VARINT = 0, PB_FIXED64 = 1, PB_BYTES = 2, PB_FIXED32 = 5 };

/* False at the end, or when it is malformed (c->bad). */
bool pb_next(struct cursor *c, struct pb_field *out);
/* The value of a numeric field, 0 without it. */
uint64_t pb_number(struct cursor message, unsigned number);
/* The next value of a repeated numeric field, packed or not: `state` starts as the field's own. False: no more. */
bool pb_repeated(struct pb_field *f, uint64_t *out);
