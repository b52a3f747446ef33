/* Splits a pprof profile (profile.proto of google/pprof) into its messages, for conversion to other formats, and finds
 * the position of an ID in its table. The messages themselves are parsed on demand. Everything is limited and nothing
 * is trusted: callers check indices with these functions before they follow them.
 */
#pragma once
#include "base/cursor.h"
#include "base/map.h"

enum { PPROF_MAX_ITEMS = 1 << 20 }; /* per kind */

struct cursor_list {
    struct cursor *v;
    size_t n, cap;
};

struct pprof {
    struct cursor_list sample_types, samples, mappings, locations, functions, strings;
    struct map mapping_ids, location_ids, function_ids; /* ID -> index in its list + 1 */
    struct cursor period_type;                          /* empty: none */
    uint64_t time_ns, duration_ns, period;
};

/* Returns 0; -EBADMSG: malformed; -E2BIG: more than PPROF_MAX_ITEMS; -ENOMEM. *out points into data. Free it in every
 * case. */
int pprof_read(struct pprof *out, const void *data, size_t len);
void pprof_free(struct pprof *p);

/* Returns the index of an ID + 1; 0: the ID is 0 or does not exist. */
uint64_t pprof_place(const struct map *ids, uint64_t id);

/* One field of a protocol buffers message. */
struct pb_field {
    unsigned number, wire;
    uint64_t value;      /* varint, fixed */
    struct cursor bytes; /* length-delimited */
};
enum { PB_VARINT = 0, PB_FIXED64 = 1, PB_BYTES = 2, PB_FIXED32 = 5 };

/* Reads the next field. Returns false at the end, or if it is malformed (c->bad). */
bool pb_next(struct cursor *c, struct pb_field *out);
/* Returns the value of a numeric field; 0 if it is missing. */
uint64_t pb_number(struct cursor message, unsigned number);
/* Reads the next value of a repeated numeric field, packed or not, from the field `f`. Returns false if there are no
 * more. */
bool pb_repeated(struct pb_field *f, uint64_t *out);
