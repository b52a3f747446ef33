/* Opens the files that testdata/build.sh built, for tests. */
#pragma once
#include "elf/elf.h"
#include "cfi/table.h"

/* An owned fd, or -1. */
int fixture_fd(const char *name);
/* 0 or -errno. */
int fixture_elf(const char *name, struct elf_file *e);
/* Image of a fixture, owned by the caller; NULL: not there or not built. It has passed table_check. */
struct xp_table *fixture_table(const char *name);
/* File offset of a symbol of .symtab; ~0: none. */
u64 fixture_symbol(const struct elf_file *e, const char *name);
