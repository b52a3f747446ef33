/* Opens the files that testdata/build.sh built, for tests. */
#pragma once
#include "elf/elf.h"
#include "cfi/table.h"

/* An owned fd, or -1. */
int fixture_fd(const char *name);
/* 0 or -errno. */
int fixture_elf(const char *name, struct elf_file *e);
/* Builds the image of a fixture, owned by the caller, and checks it with table_check; NULL: no such file, or an
 * error. */
struct xp_table *fixture_table(const char *name);
/* Returns the file offset of a symbol in .symtab; ~0: none. */
u64 fixture_symbol(const struct elf_file *e, const char *name);
