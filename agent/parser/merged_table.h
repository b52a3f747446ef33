/* Unwind tables from all who know how to unwind a file's code: Go's own table for what it covers, CFI for the rest. */
#pragma once
#include "object/table.h"

/* As table_identify and table_build (object/table.h). */
int merged_identify(int fd, const u8 secret[16], struct table_key *out);
int merged_table(int fd, const struct table_limits *limits, struct xp_table **out, size_t *len);
