/* Entries (DIEs): stepping over them, and the attributes that functions, inlined calls and units need. */
#include "base/cleanup.h"
#include "dwarf/file.h"
#include <dwarf.h>
#include <errno.h>

void dwarf_die_skip_varying(struct cursor *c, const struct dwarf_abbrevs *t, const struct dwarf_abbrev *a,
                            const struct dwarf_unit *u)
{
    for (const struct dwarf_skip *k = &t->skips.v[a->skip];; k++) {
        read_skip(c, k->fixed);
        if (k->var == VAR_END)
            return;
        dwarf_value_skip(c, u, k->var);
    }
}

static void take_attr(struct dwarf_die *o, unsigned at, const struct dwarf_value *v, const struct dwarf_unit *u)
{
    switch (at) {
    case DW_AT_low_pc:
        o->has_low = v->kind == VAL_ADDRESS;
        o->low = v->n;
        break;
    case DW_AT_high_pc:
        o->high = v->n;
        o->high_is_address = v->kind == VAL_ADDRESS;
        break;
    case DW_AT_ranges: /* versions 2 and 3 write an offset as a number */
        o->has_ranges = v->kind == VAL_OFFSET || v->kind == VAL_LIST_INDEX || (v->kind == VAL_NUMBER && u->version < 4);
        o->ranges = v->n;
        o->ranges_indexed = v->kind == VAL_LIST_INDEX;
        break;
    case DW_AT_name:
        o->name = v->s;
        break;
    case DW_AT_linkage_name:
    case DW_AT_MIPS_linkage_name:
        o->linkage_name = v->s;
        break;
    case DW_AT_abstract_origin:
    case DW_AT_specification:
        o->origin = v->kind == VAL_REFERENCE ? v->n : 0;
        o->origin_file = v->file;
        break;
    case DW_AT_call_file:
        o->has_call_file = true;
        o->call_file = v->n;
        break;
    case DW_AT_call_line:
        o->call_line = v->n;
        break;
    }
}

void dwarf_die_read(struct cursor *c, struct dwarf_file *d, const struct dwarf_unit *u, const struct dwarf_abbrevs *t,
                    const struct dwarf_abbrev *a, struct dwarf_die *out)
{
    *out = (struct dwarf_die){.tag = a->tag};
    for (u32 i = 0; i < a->nattrs && !c->bad; i++) {
        const struct dwarf_attr *s = &t->attrs.v[a->attr + i];
        struct dwarf_value v = dwarf_value_read(c, d, u, s->form, s->value);
        take_attr(out, s->at, &v, u);
    }
}

/* ---- The unit's own entry --------------------------------------------------------------------------------------- */

/* What indexed strings and addresses of the same entry need; it may stand behind them. */
static void take_base(struct dwarf_unit *u, unsigned at, const struct dwarf_value *v)
{
    if (v->kind != VAL_OFFSET && v->kind != VAL_NUMBER)
        return;
    if (at == DW_AT_str_offsets_base)
        u->str_base = v->n;
    else if (at == DW_AT_addr_base || at == DW_AT_GNU_addr_base)
        u->addr_base = v->n;
    else if (at == DW_AT_rnglists_base || at == DW_AT_GNU_ranges_base)
        u->ranges_base = v->n;
}

static void take_unit_attr(struct dwarf_unit *u, unsigned at, const struct dwarf_value *v)
{
    bool is_offset = v->kind == VAL_OFFSET || v->kind == VAL_NUMBER;
    if (at == DW_AT_low_pc && v->kind == VAL_ADDRESS)
        u->low_pc = v->n;
    if (at == DW_AT_stmt_list && is_offset) {
        u->line_off = v->n;
        u->has_lines = true;
    }
    if (at == DW_AT_comp_dir)
        u->comp_dir = v->s;
    if (at == DW_AT_dwo_name || at == DW_AT_GNU_dwo_name)
        u->dwo_name = v->s;
    if (at == DW_AT_GNU_dwo_id && v->kind == VAL_NUMBER)
        u->dwo_id = v->n;
    if (at == DW_AT_language)
        u->language = (u16)v->n;
}

int dwarf_unit_prepare(struct dwarf_file *d, struct dwarf_unit *u, struct dwarf_die *out)
{
    AUTO_ABBREVS struct dwarf_abbrevs *t = dwarf_abbrevs_get(d, u);
    if (!t)
        return -ENOMEM;
    if (d->skeleton) /* the section's own header, which version 4 has not, and no base */
        u->str_base = d->str_offsets_at + (u->version < 5 ? 0 : u->offset_size == 8 ? 16 : 8);
    for (int bases = 1; bases >= 0; bases--) {
        struct cursor c = dwarf_cursor(d, u, u->die);
        const struct dwarf_abbrev *a = dwarf_abbrev_find(t, read_uleb(&c));
        if (!a)
            return -EBADMSG;
        *out = (struct dwarf_die){.tag = a->tag};
        for (u32 i = 0; i < a->nattrs && !c.bad; i++) {
            const struct dwarf_attr *s = &t->attrs.v[a->attr + i];
            struct dwarf_value v = dwarf_value_read(&c, d, u, s->form, s->value);
            if (bases) {
                take_base(u, s->at, &v);
                continue;
            }
            take_unit_attr(u, s->at, &v);
            take_attr(out, s->at, &v, u);
        }
        if (c.bad)
            return -EBADMSG;
    }
    u->prepared = true;
    return 0;
}

/* ---- Ranges ----------------------------------------------------------------------------------------------------- */

struct ranges {
    struct dwarf_file *d;
    const struct dwarf_unit *u;
    int (*use)(void *arg, u64 lo, u64 hi);
    void *arg;
    u64 base, ones; /* an address of all ones bits */
};

static int use_range(struct ranges *r, u64 lo, u64 hi)
{
    return hi > lo ? r->use(r->arg, lo, hi) : 0;
}

/* .debug_ranges (DWARF 4, 2.17.3). Two zeros end it; all ones give a new base, or are lld's mark of dropped code. */
static int old_ranges(struct ranges *r, u64 off)
{
    const struct elf_bytes *b = &dwarf_linked(r->d)->sec[SEC_RANGES];
    struct cursor c = cursor_of(b->data, b->len);
    read_seek(&c, off);
    for (unsigned i = 0; i < DWARF_MAX_RANGES; i++) {
        u64 lo = read_uint(&c, r->u->address_size), hi = read_uint(&c, r->u->address_size);
        if (c.bad || (!lo && !hi))
            return c.bad ? -EBADMSG : 0;
        int rc = 0;
        if (lo == r->ones)
            r->base = hi;
        else if (lo != r->ones - 1)
            rc = use_range(r, r->base + lo, r->base + hi);
        if (rc)
            return rc;
    }
    return -ENOSPC;
}

/* One entry of .debug_rnglists (DWARF 5, 7.25). 1: a range, 0: none, -ENODATA: the end, -EBADMSG. */
static int list_entry(struct ranges *r, struct cursor *c, u64 *lo, u64 *hi)
{
    unsigned size = r->u->address_size;
    bool ok = true;
    switch (cursor_u8(c)) {
    case DW_RLE_end_of_list:
        return c->bad ? -EBADMSG : -ENODATA;
    case DW_RLE_base_addressx:
        dwarf_indexed_address(r->d, r->u, read_uleb(c), &r->base);
        return 0;
    case DW_RLE_base_address:
        r->base = read_uint(c, size);
        return 0;
    case DW_RLE_startx_endx:
        ok = dwarf_indexed_address(r->d, r->u, read_uleb(c), lo);
        ok &= dwarf_indexed_address(r->d, r->u, read_uleb(c), hi);
        break;
    case DW_RLE_startx_length:
        ok = dwarf_indexed_address(r->d, r->u, read_uleb(c), lo);
        *hi = *lo + read_uleb(c);
        break;
    case DW_RLE_offset_pair:
        *lo = r->base + read_uleb(c);
        *hi = r->base + read_uleb(c);
        ok = r->base < r->ones - 1;
        break;
    case DW_RLE_start_end:
        *lo = read_uint(c, size);
        *hi = read_uint(c, size);
        break;
    case DW_RLE_start_length:
        *lo = read_uint(c, size);
        *hi = *lo + read_uleb(c);
        break;
    default:
        return -EBADMSG;
    }
    return ok && *lo < r->ones - 1;
}

static int range_list(struct ranges *r, u64 off)
{
    struct cursor c = cursor_of(r->d->sec[SEC_RNGLISTS].data, r->d->sec[SEC_RNGLISTS].len);
    read_seek(&c, off);
    for (unsigned i = 0; i < DWARF_MAX_RANGES; i++) {
        u64 lo = 0, hi = 0;
        int rc = list_entry(r, &c, &lo, &hi);
        if (c.bad || rc < 0)
            return c.bad ? -EBADMSG : rc == -ENODATA ? 0 : rc;
        rc = rc ? use_range(r, lo, hi) : 0;
        if (rc)
            return rc;
    }
    return -ENOSPC;
}

/* DW_FORM_rnglistx: an entry of the offsets behind the section's header. */
static bool indexed_list(const struct ranges *r, u64 i, u64 *off)
{
    const struct elf_bytes *b = &r->d->sec[SEC_RNGLISTS];
    struct cursor c = cursor_of(b->data, b->len);
    u64 base = r->d->skeleton ? r->d->rnglists_at + (r->u->offset_size == 8 ? 20 : 12) : r->u->ranges_base;
    read_seek(&c, i <= b->len && base <= b->len ? base + i * r->u->offset_size : UINT64_MAX);
    *off = base + read_uint(&c, r->u->offset_size);
    return !c.bad;
}

int dwarf_die_ranges(struct dwarf_file *d, const struct dwarf_unit *u, const struct dwarf_die *die,
                     int (*use)(void *arg, u64 lo, u64 hi), void *arg)
{
    struct ranges r = {.d = d,
                       .u = u,
                       .use = use,
                       .arg = arg,
                       .base = u->low_pc,
                       .ones = u->address_size == 4 ? UINT32_MAX : UINT64_MAX};
    u64 off = die->ranges;
    if (die->has_ranges) {
        if (u->version < 5) /* GNU's split units count from the skeleton's */
            return old_ranges(&r, d->skeleton ? off + u->ranges_base : off);
        return die->ranges_indexed && !indexed_list(&r, off, &off) ? -EBADMSG : range_list(&r, off);
    }
    if (!die->has_low || !die->high)
        return 0;
    return use_range(&r, die->low, die->high_is_address ? die->high : die->low + die->high);
}
