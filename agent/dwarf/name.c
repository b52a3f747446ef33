/* Names of functions. A concrete or inlined copy leads, over one or more hops, to the entry with the name. gcc gives no
 * linkage name to static functions, lambdas and what is in anonymous namespaces (30 % of duckdb's addresses): those get
 * the namespaces and classes around them. Which these are, no entry says: one table for each unit that asks.
 */
#include "base/cleanup.h"
#include "base/hash.h"
#include "dwarf/file.h"
#include <dwarf.h>
#include <stdio.h>

static bool is_scope(unsigned tag)
{
    return tag == DW_TAG_namespace || tag == DW_TAG_class_type || tag == DW_TAG_structure_type ||
           tag == DW_TAG_union_type || tag == DW_TAG_module || tag == DW_TAG_interface_type;
}

/* Names of C, assembly and Go are whole. */
static bool has_scopes(const struct dwarf_unit *u)
{
    switch (u->language) {
    case DW_LANG_C89:
    case DW_LANG_C:
    case DW_LANG_C99:
    case DW_LANG_C11:
    case DW_LANG_Go:
    case DW_LANG_Mips_Assembler:
        return false;
    }
    return true;
}

struct scope_walk {
    struct dwarf_file *d;
    struct dwarf_unit *u;
    struct dwarf_scopes *to;
    u32 open[DWARF_MAX_DEPTH];    /* 1 + the scope that entries of this depth are in */
    bool opened[DWARF_MAX_DEPTH]; /* it begins at this depth */
    unsigned depth;
};

static void enter(struct scope_walk *w, u64 off, const char *name)
{
    u32 outer = w->open[w->depth++];
    w->open[w->depth] = outer;
    w->opened[w->depth] = false;
    struct dwarf_scope *s = name ? VEC_PUSH(&w->to->v) : NULL;
    if (!s)
        return;
    *s = (struct dwarf_scope){.lo = off, .hi = off, .name = name, .up = outer};
    w->open[w->depth] = (u32)w->to->v.n;
    w->opened[w->depth] = true;
}

static void leave(struct scope_walk *w, u64 off)
{
    if (w->opened[w->depth])
        w->to->v.v[w->open[w->depth] - 1].hi = off;
    w->depth--;
}

static const char *scope_name(struct scope_walk *w, struct cursor *c, const struct dwarf_abbrevs *t,
                              const struct dwarf_abbrev *a)
{
    struct dwarf_die o;
    dwarf_die_read(c, w->d, w->u, t, a, &o);
    return o.name ? o.name : a->tag == DW_TAG_namespace ? "(anonymous namespace)" : NULL;
}

/* All scopes of the unit, as far as it is sound. */
static void list_scopes(struct scope_walk *w)
{
    AUTO_ABBREVS struct dwarf_abbrevs *t = dwarf_abbrevs_get(w->d, w->u);
    struct cursor c = dwarf_cursor(w->d, w->u, w->u->die);
    while (t && !c.bad && c.pos < c.len && dwarf_spend(w->d, 1)) {
        u64 off = w->d->window_at + c.pos, code = read_uleb(&c);
        const struct dwarf_abbrev *a = code ? dwarf_abbrev_find(t, code) : NULL;
        if (!code) {
            if (w->depth)
                leave(w, off);
            if (!w->depth)
                return;
            continue;
        }
        if (!a || (a->children && w->depth + 1 >= DWARF_MAX_DEPTH))
            return;
        const char *name = NULL;
        if (a->children && is_scope(a->tag))
            name = scope_name(w, &c, t, a);
        else
            dwarf_die_skip(&c, t, a, w->u);
        if (a->children)
            enter(w, off, name);
    }
}

static const struct dwarf_scopes *scopes_of(struct dwarf_file *d, struct dwarf_unit *u)
{
    struct dwarf_scopes *s = &d->scopes[hash_u64(u->off) % DWARF_SCOPE_SLOTS];
    if (s->valid && s->unit == u->off)
        return s;
    struct scope_walk w = {.d = d, .u = u, .to = s};
    s->v.n = 0;
    s->unit = u->off;
    s->valid = true;
    list_scopes(&w);
    return s;
}

/* Writes "a::b::" for the entry at `off`; the length. */
static size_t write_scopes(const struct dwarf_scopes *s, u64 off, char *buf, size_t size)
{
    const struct dwarf_scope *chain[DWARF_MAX_SCOPES];
    size_t lo = 0, hi = s->v.n, len = 0;
    unsigned n = 0;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (s->v.v[mid].lo < off)
            lo = mid + 1;
        else
            hi = mid;
    }
    for (size_t i = lo; i && n < DWARF_MAX_SCOPES; i = s->v.v[i - 1].up)
        if (s->v.v[i - 1].hi > off)
            chain[n++] = &s->v.v[i - 1];
    while (n--) {
        size_t l = strnlen(chain[n]->name, DWARF_MAX_NAME);
        if (len + l + 3 > size)
            break;
        len += (size_t)snprintf(buf + len, size - len, "%.*s::", (int)l, chain[n]->name);
    }
    return len;
}

/* The entry at `off`. False: there is none. */
static bool read_entry(struct dwarf_file *d, u64 off, struct dwarf_unit **unit, struct dwarf_die *out)
{
    struct dwarf_unit *u = dwarf_unit_at(d, off);
    if (!u || (!u->prepared && dwarf_unit_prepare(d, u, out)))
        return false;
    AUTO_ABBREVS struct dwarf_abbrevs *t = dwarf_abbrevs_get(d, u);
    struct cursor c = dwarf_cursor(d, u, off);
    const struct dwarf_abbrev *a = t ? dwarf_abbrev_find(t, read_uleb(&c)) : NULL;
    if (a)
        dwarf_die_read(&c, d, u, t, a, out);
    *unit = u;
    return a && !c.bad;
}

const char *dwarf_die_name(struct dwarf_file *d, u64 off, char *buf, size_t size)
{
    const char *name = NULL;
    struct dwarf_file *file = NULL;
    struct dwarf_unit *unit = NULL, *u;
    u64 at = 0;
    struct dwarf_die o;
    for (int hop = 0; hop < DWARF_MAX_HOPS && off && d && dwarf_spend(d, 1) && read_entry(d, off, &u, &o); hop++) {
        if (o.linkage_name && *o.linkage_name)
            return o.linkage_name;
        if (o.name) { /* the last one on the way: the declaration, which is where the scopes are */
            name = o.name;
            file = d;
            unit = u;
            at = off;
        }
        off = o.origin;
        d = o.origin_file;
    }
    if (!name || !has_scopes(unit))
        return name;
    size_t len = write_scopes(scopes_of(file, unit), at, buf, size);
    if (!len)
        return name;
    size_t l = strnlen(name, size - len - 1);
    memcpy(buf + len, name, l);
    buf[len + l] = 0;
    return buf;
}
