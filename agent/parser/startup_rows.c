#include "parser/startup_rows.h"
#include "cfi/rows.h"
#include "synth/startup.h"
#include <errno.h>

static bool is_unproven(const struct synth_row *r)
{
    return XP_RULE_CFA(r->rule.kind) == XP_CFA_UNPROVEN;
}

static int add_row(struct startup_rows *out, const struct synth_row *r)
{
    struct table_row *row = VEC_PUSH(&out->rows);
    if (!row)
        return -ENOMEM;
    *row = (struct table_row){r->offset, rule_word(r->rule)};
    out->codes.v[out->codes.n - 1].n++;
    return 0;
}

/* Rows from *next on, up to `end`, of one range. What is unproven stays open: that may be found out later. */
static int add_range(struct startup_rows *out, const struct synth *s, size_t *next, u64 end)
{
    bool open = false;
    int err = 0;
    for (; *next < s->rows.n && s->rows.v[*next].offset < end && !err; ++*next) {
        const struct synth_row *r = &s->rows.v[*next];
        if (open && is_unproven(r))
            out->codes.v[out->codes.n - 1].end = r->offset;
        if (!open && !is_unproven(r)) {
            struct table_code *c = VEC_PUSH(&out->codes);
            if (!c)
                return -ENOMEM;
            *c = (struct table_code){.start = r->offset, .end = end, .source = XP_SOURCE_SYNTH};
        }
        open = !is_unproven(r);
        err = open ? add_row(out, r) : 0;
    }
    return err;
}

int startup_rows_read(const struct elf_file *e, struct startup_rows *out)
{
    AUTO_SYNTH struct synth s = {0};
    size_t next = 0, row = 0;
    int err = synth_read_startup(e, &s);
    for (size_t i = 0; i < s.ranges.n && !err; i++)
        err = add_range(out, &s, &next, s.ranges.v[i].end);
    for (size_t i = 0; i < out->codes.n && !err; row += out->codes.v[i++].n)
        out->codes.v[i].rows = &out->rows.v[row];
    if (err)
        startup_rows_free(out);
    return err;
}

void startup_rows_free(struct startup_rows *s)
{
    vec_free(&s->rows);
    vec_free(&s->codes);
}
