/* Which code a table has rows for, before any row is made: what others may fill is the rest. It has to agree with what
 * table.c makes of FDEs, known code and rows from elsewhere. */
#include "cfi/gap.h"
#include "cfi/table_elf.h"
#include <errno.h>

static int push(table_spans *v, u64 start, u64 end)
{
    struct table_span *s = start < end ? VEC_PUSH(v) : NULL;
    if (start >= end)
        return 0;
    if (!s)
        return -ENOMEM;
    *s = (struct table_span){start, end};
    return 0;
}

/* FDEs, and in their midst `code`, before which they give way. */
static int list_fdes(const struct cfi *c, const struct table_code *code, table_spans *out)
{
    int err = 0;
    if (code && !code->n)
        code = NULL;
    bool waits = code != NULL;
    for (size_t i = 0; i < c->fdes.n && !err; i++) {
        struct cfi_fde f = c->fdes.v[i];
        if (waits && f.start >= code->start) {
            err = push(out, code->start, code->end);
            waits = false;
        }
        if (!err && table_trim_fde(code, &f))
            err = push(out, f.start, f.start + f.len);
    }
    return err || !waits ? err : push(out, code->start, code->end);
}

/* Known code goes where nothing covers its start, as far as nothing else begins. */
static int insert_known(const struct gap_code *k, table_spans *v)
{
    size_t i = 0;
    while (i < v->n && v->v[i].start <= k->start)
        i++;
    if (i && v->v[i - 1].end > k->start)
        return 0;
    u64 end = i < v->n && v->v[i].start < k->end ? v->v[i].start : k->end;
    int err = push(v, k->start, end);
    if (err)
        return err;
    memmove(&v->v[i + 1], &v->v[i], (v->n - 1 - i) * sizeof(*v->v));
    v->v[i] = (struct table_span){k->start, end};
    return 0;
}

int table_covered(const struct elf_file *e, const struct table_code *code, const struct table_limits *limits,
                  table_spans *out)
{
    AUTO_CFI struct cfi c = {0};
    struct gap_codes known;
    int err = cfi_read(&c, e, limits->max_rows < CFI_MAX_FDES ? limits->max_rows : CFI_MAX_FDES);
    if (!err)
        err = list_fdes(&c, code, out);
    gap_codes_find(e, &known);
    for (size_t i = 0; i < known.n && !err; i++)
        err = insert_known(&known.v[i], out);
    return err;
}
