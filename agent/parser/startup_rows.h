/* The rows of start-up code (synth/startup.h), as a table takes them. They depend on bytes that no digest of CFI
 * covers, so the rows themselves are part of a table's key (cfi/table_elf.h). */
#pragma once
#include "base/vec.h"
#include "cfi/table.h"
#include "elf/elf.h"

struct startup_rows {
    VEC(struct table_row) rows;
    VEC(struct table_code) codes; /* ascending, disjoint; they refer to `rows` */
};

/* `out` must be {0}. Returns 0, also if there is none; or -ENOMEM. */
int startup_rows_read(const struct elf_file *e, struct startup_rows *out);
void startup_rows_free(struct startup_rows *s);
