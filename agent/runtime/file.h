/* Opens a file that any runtime recognises as one of its programs. For the parser process. */
#pragma once
#include "runtime/runtime.h"

struct runtime_file {
    const struct runtime_file_ops *ops; /* NULL: not recognised by any runtime */
    void *file;
};

/* Returns 0; -ENODATA: no runtime recognises the file. `e` must outlive *out. Call runtime_file_close in every case. */
int runtime_file_open(struct runtime_file *out, const struct elf_file *e);
void runtime_file_close(struct runtime_file *f);
#define AUTO_RUNTIME_FILE __attribute__((cleanup(runtime_file_close)))

/* Reads the rows of a file; none if no runtime recognises it. `out` must be {0}; release it with runtime_rows_free.
 * Returns 0 or -ENOMEM. */
int runtime_file_rows(const struct elf_file *e, struct runtime_rows *out);
