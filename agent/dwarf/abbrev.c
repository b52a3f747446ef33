/* Abbreviations (DWARF 5, 7.5.3): the shape of entries. Each gets its size in bytes, or a short program to step over
 * it, because most entries are of no interest. */
#include "base/cleanup.h"
#include "base/hash.h"
#include "dwarf/file.h"
#include <dwarf.h>

/* No subtree is jumped over by DW_AT_sibling: gcc puts the code of local classes and lambdas inside declarations and
 * types (30 functions of duckdb), and looking at everything costs 3 to 6 %. */
static enum die_kind kind_of(u16 tag, bool code)
{
    if (!code)
        return DIE_OTHER;
    return tag == DW_TAG_subprogram ? DIE_FUNCTION : tag == DW_TAG_inlined_subroutine ? DIE_INLINED : DIE_OTHER;
}

static bool push_skip(struct dwarf_abbrevs *t, u32 run, u8 var)
{
    struct dwarf_skip *k = run < DWARF_NOT_FIXED ? VEC_PUSH(&t->skips) : NULL;
    if (k)
        *k = (struct dwarf_skip){(u16)run, var};
    return k;
}

/* One attribute of `a`; `run` is the bytes since the last one whose size varies. False: the end, or bad. */
static bool read_attr(struct cursor *c, const struct dwarf_unit *u, struct dwarf_abbrevs *t, struct dwarf_abbrev *a,
                      u32 *run)
{
    u64 at = read_uleb(c), form = read_uleb(c);
    s64 value = form == DW_FORM_implicit_const ? read_sleb(c) : 0;
    if (c->bad || (!at && !form))
        return false;
    u8 var = VAR_END;
    int size = at > 0xffff || form > 0xffff ? -2 : dwarf_form_size((unsigned)form, u, &var);
    struct dwarf_attr *place = NULL;
    if (size != -2 && t->attrs.n < DWARF_MAX_SPECS && a->nattrs < DWARF_MAX_ATTRS)
        place = VEC_PUSH(&t->attrs);
    if (!place || (size < 0 && !push_skip(t, *run, var))) {
        c->bad = true;
        return false;
    }
    *place = (struct dwarf_attr){(u16)at, (u16)form, value};
    a->nattrs++;
    *run = size < 0 ? 0 : *run + (u32)size;
    return true;
}

static bool read_abbrev(struct cursor *c, const struct dwarf_unit *u, struct dwarf_abbrevs *t, struct dwarf_abbrev *a)
{
    *a = (struct dwarf_abbrev){.code = read_uleb(c), .attr = (u32)t->attrs.n, .skip = (u32)t->skips.n};
    if (c->bad || !a->code)
        return false;
    a->tag = (u16)read_uleb(c);
    a->children = cursor_u8(c);
    u32 run = 0;
    bool code = false;
    while (read_attr(c, u, t, a, &run)) {
        u16 at = t->attrs.v[t->attrs.n - 1].at;
        code |= at == DW_AT_low_pc || at == DW_AT_ranges;
    }
    bool fixed = t->skips.n == a->skip;
    a->fixed = fixed && run < DWARF_NOT_FIXED ? (u16)run : DWARF_NOT_FIXED;
    a->kind = (u8)kind_of(a->tag, code);
    return !c->bad && push_skip(t, run, VAR_END);
}

static int by_code(const void *x, const void *y)
{
    const struct dwarf_abbrev *a = x, *b = y;
    return a->code < b->code ? -1 : a->code > b->code;
}

/* A damaged table ends where the damage is. NULL without memory or time. */
static struct dwarf_abbrevs *parse(struct dwarf_file *d, const struct dwarf_unit *u)
{
    struct cursor c = cursor_of(d->sec[SEC_ABBREV].data, d->sec[SEC_ABBREV].len);
    CLEANUP(dwarf_abbrevs_put) struct dwarf_abbrevs *t = calloc(1, sizeof(*t));
    if (!t)
        return NULL;
    *t = (struct dwarf_abbrevs){.off = u->abbrev_off,
                                .address_size = u->address_size,
                                .offset_size = u->offset_size,
                                .version = (u8)u->version,
                                .dense = true,
                                .refs = 1};
    struct dwarf_abbrev a;
    read_seek(&c, u->abbrev_off);
    while (t->rows.n < DWARF_MAX_ABBREVS && read_abbrev(&c, u, t, &a)) {
        struct dwarf_abbrev *place = VEC_PUSH(&t->rows);
        if (!place || !dwarf_spend(d, 1 + a.nattrs))
            return NULL;
        t->dense &= a.code == t->rows.n;
        *place = a;
    }
    if (!t->dense)
        qsort(t->rows.v, t->rows.n, sizeof(*t->rows.v), by_code);
    return TAKE_PTR(t);
}

struct dwarf_abbrevs *dwarf_abbrevs_get(struct dwarf_file *d, const struct dwarf_unit *u)
{
    struct dwarf_abbrevs **slot = &d->slots[hash_u64(u->abbrev_off) % DWARF_ABBREV_SLOTS], *t = *slot;
    if (!t || t->off != u->abbrev_off || t->address_size != u->address_size || t->offset_size != u->offset_size ||
        t->version != u->version) {
        dwarf_abbrevs_put(slot); /* who still works with it holds a reference */
        t = *slot = parse(d, u);
    }
    if (t)
        t->refs++;
    return t;
}

void dwarf_abbrevs_put(struct dwarf_abbrevs **t)
{
    if (*t && !--(*t)->refs) {
        vec_free(&(*t)->rows);
        vec_free(&(*t)->attrs);
        vec_free(&(*t)->skips);
        free(*t);
    }
    *t = NULL;
}

const struct dwarf_abbrev *dwarf_abbrev_search(const struct dwarf_abbrevs *t, u64 code)
{
    struct dwarf_abbrev key = {.code = code};
    return t->rows.n ? bsearch(&key, t->rows.v, t->rows.n, sizeof(key), by_code) : NULL;
}
