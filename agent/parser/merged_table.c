#include "parser/merged_table.h"
#include "base/cleanup.h"
#include "cfi/table_elf.h"
#include "parser/startup_rows.h"
#include "runtime/file.h"
#include <errno.h>

struct merged_table {
    struct elf_file elf;
    struct runtime_rows runtime;
    struct startup_rows startup;
    struct table_input input;
};

int merged_identify(int fd, const u8 secret[16], struct table_key *key, struct merged_table **out)
{
    CLEANUP(merged_free) struct merged_table *m = calloc(1, sizeof(*m));
    if (!m)
        return -ENOMEM;
    int err = elf_open(&m->elf, fd);
    if (!err)
        err = runtime_file_rows(&m->elf, &m->runtime); /* they tell two programs apart, too */
    if (!err)
        err = table_read(&m->input, &m->elf, fd, &m->runtime.code);
    if (!err)
        err = startup_rows_read(&m->elf, &m->startup);
    if (err)
        return err;
    m->input.gaps = m->startup.codes.v;
    m->input.ngaps = m->startup.codes.n;
    elf_unmap(&m->elf); /* nobody can read it once more */
    table_key_of(&m->input, secret, key);
    *out = TAKE_PTR(m);
    return 0;
}

int merged_make(struct merged_table *m, const struct table_limits *limits, struct xp_table **out, size_t *len)
{
    return table_make(&m->input, NULL, 0, limits, out, len);
}

void merged_free(struct merged_table **m)
{
    if (!*m)
        return;
    table_input_free(&(*m)->input);
    startup_rows_free(&(*m)->startup);
    runtime_rows_free(&(*m)->runtime);
    elf_close(&(*m)->elf);
    free(TAKE_PTR(*m));
}
