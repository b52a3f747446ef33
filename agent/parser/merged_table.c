#include "parser/merged_table.h"
#include "object/table_elf.h"
#include "runtime/go_rows.h"
#include <errno.h>

/* Go's rows, if there are any. 0 or -ENOMEM. */
static int read_go(const struct elf_file *e, struct go_rows *out)
{
    struct gopclntab t;
    if (go_open(&t, e))
        return 0;
    return go_rows_read(&t, out) == -ENOMEM ? -ENOMEM : 0;
}

/* The rows themselves are what tells two Go programs apart: their bytes are fewer than those they come from. */
int merged_identify(int fd, const u8 secret[16], struct table_key *out)
{
    AUTO_ELF struct elf_file e = {0};
    AUTO_GO_ROWS struct go_rows go = {0};
    int err = elf_open(&e, fd);
    if (!err)
        err = read_go(&e, &go);
    return err ? err : table_identify_elf(&e, &go.code, secret, out);
}

int merged_table(int fd, const struct table_limits *limits, struct xp_table **out, size_t *len)
{
    AUTO_ELF struct elf_file e = {0};
    AUTO_GO_ROWS struct go_rows go = {0};
    int err = elf_open(&e, fd);
    if (!err)
        err = read_go(&e, &go);
    return err ? err : table_build_elf(&e, &go.code, limits, out, len);
}
