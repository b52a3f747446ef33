#include "parser/merged_table.h"
#include "base/cleanup.h"
#include "object/table_elf.h"
#include "runtime/go_rows.h"
#include <errno.h>

struct merged_table {
    struct elf_file elf;
    struct go_rows go;
    struct table_input input;
};

/* Go's rows, if there are any: as they are ours, they tell two programs apart, too. 0 or -ENOMEM. */
static int read_go(const struct elf_file *e, struct go_rows *out)
{
    struct gopclntab t;
    if (go_open(&t, e))
        return 0;
    return go_rows_read(&t, out) == -ENOMEM ? -ENOMEM : 0;
}

int merged_identify(int fd, const u8 secret[16], struct table_key *key, struct merged_table **out)
{
    CLEANUP(merged_free) struct merged_table *m = calloc(1, sizeof(*m));
    if (!m)
        return -ENOMEM;
    int err = elf_open(&m->elf, fd);
    if (!err)
        err = read_go(&m->elf, &m->go);
    if (!err)
        err = table_read(&m->input, &m->elf, fd, &m->go.code);
    if (err)
        return err;
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
    go_rows_free(&(*m)->go);
    elf_close(&(*m)->elf);
    free(TAKE_PTR(*m));
}
