/* pprof read back by a decoder of its own: small, and it shares nothing with the writer but the standard. */
#pragma once
#include "base/buf.h"
#include "base/cursor.h"
#include "base/vec.h"
#include "profile/fixture_test.h"

struct field {
    unsigned number;
    u64 value;         /* wire type 0 */
    struct cursor sub; /* wire type 2 */
};

struct decoded {
    struct buf raw;
    VEC(struct field) fields;
    VEC(struct cursor) strings;
    bool bad;
};

/* Encodes a profile as pprof, and reads the fields of that; d->bad: it is malformed. */
void pprof_decode(const struct profile *p, struct decoded *d);
void decoded_free(struct decoded *d);
/* Returns a number of a message; 0: it has none. */
u64 pprof_number(struct cursor message, unsigned field);
/* Appends a string of the table. */
void pprof_add_text(const struct decoded *d, u64 string, struct buf *out);
/* Finds the message with field 1 = id among those of a kind. */
bool pprof_by_id(const struct decoded *d, unsigned kind, u64 id, struct cursor *out);
/* Appends "values: leaf ... root {labels}" of each sample, a line each. */
void pprof_samples_text(struct decoded *d, struct buf *out);
/* Appends "type/unit " of each message of a kind. */
void pprof_types_text(const struct decoded *d, unsigned kind, struct buf *out);
/* Returns a number of the profile itself. */
u64 pprof_top_number(const struct decoded *d, unsigned field);
#define AUTO_DECODED __attribute__((cleanup(decoded_free)))
