#include "runtime/file.h"
#include <errno.h>

int runtime_file_open(struct runtime_file *out, const struct elf_file *e)
{
    size_t n;
    const struct runtime *const *all = runtimes(&n);
    *out = (struct runtime_file){0};
    for (size_t i = 0; i < n; i++)
        if (all[i]->file && !all[i]->file->open(&out->file, e)) {
            out->ops = all[i]->file;
            return 0;
        }
    return -ENODATA;
}

void runtime_file_close(struct runtime_file *f)
{
    if (f->ops)
        f->ops->close(f->file);
    *f = (struct runtime_file){0};
}

int runtime_file_rows(const struct elf_file *e, struct runtime_rows *out)
{
    AUTO_RUNTIME_FILE struct runtime_file f;
    if (runtime_file_open(&f, e))
        return 0;
    return f.ops->rows(f.file, out) == -ENOMEM ? -ENOMEM : 0;
}
