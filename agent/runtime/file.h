/* Opens a file that any runtime recognises as one of its programs. For the parser process. */
#pragma once
#include "runtime/runtime.h"

struct runtime_file {
    const struct runtime_file_ops *ops; /* NULL: no runtime's program */
    void *file;
};

/* 0, or -ENODATA: no runtime recognises it. `e` outlives *out; runtime_file_close in any case. */
int runtime_file_open(struct runtime_file *out, const struct elf_file *e);
void runtime_file_close(struct runtime_file *f);
#define AUTO_RUNTIME_FILE __attribute__((cleanup(runtime_file_close)))

/* Its rows; none for a file that no runtime recognises. 0 or -ENOMEM; `out` starts as {0}, runtime_rows_free. */
int runtime_file_rows(const struct elf_file *e, struct runtime_rows *out);
