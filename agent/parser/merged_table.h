/* Builds the unwind table of a file from all sources: a runtime's own table (Go's) for what it covers, CFI for the
 * rest, and the rows of start-up code that has neither (startup_rows.h).
 *
 * Tables are shared by key, and a file can be modified at any moment. So a file is read once, into private memory, and
 * its key and its table are both computed from that copy.
 */
#pragma once
#include "cfi/table.h"

struct merged_table; /* everything needed to build one */

/* fd is borrowed for the call. 0 or as table_identify and table_build (cfi/table.h). */
int merged_identify(int fd, const u8 secret[16], struct table_key *key, struct merged_table **out);
/* The image; once for each `m`. */
int merged_make(struct merged_table *m, const struct table_limits *limits, struct xp_table **out, size_t *len);
void merged_free(struct merged_table **m);
