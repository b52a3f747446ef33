/* From entries to nodes and ranges. All entries of a unit are looked at, most only to step over them. */
#include "dwarf/build.h"
#include <errno.h>

#define MAX_NODES (1u << 26)

static u32 add_node(struct dwarf_builder *b, u32 caller, u32 name, u32 file, u64 line)
{
    u32 up = caller ? (u32)b->nodes.n - caller : 0;
    if (up > UINT16_MAX) { /* too far for 16 bits: repeat the caller */
        struct dwarf_node far = b->nodes.v[caller];
        u32 outer = far.up ? caller - far.up : 0;
        caller = add_node(b, outer, far.name, (u32)far.file_hi << 16 | far.file_lo, far.line);
        up = (u32)b->nodes.n - caller;
        if (!caller)
            return 0;
    }
    struct dwarf_node *n = b->nodes.n < MAX_NODES ? VEC_PUSH(&b->nodes) : NULL;
    if (!n)
        return 0;
    *n = (struct dwarf_node){.name = name,
                             .line = line < 1u << 24 ? (u32)line : 0,
                             .file_hi = (u8)(file >> 16),
                             .file_lo = (u16)file,
                             .up = (u16)up};
    return (u32)b->nodes.n - 1;
}

struct range_use {
    struct dwarf_builder *b;
    bool function;
};

static int add_range(void *arg, u64 lo, u64 hi)
{
    struct range_use *x = arg;
    struct dwarf_builder *b = x->b;
    if (!b->range_budget || b->ranges.n >= INT32_MAX) {
        b->cuts |= DWARF_CUT_RANGES;
        return -ENOSPC;
    }
    b->range_budget--;
    if (x->function && !dwarf_is_code(b->d, lo))
        return 0;
    struct dwarf_range *r = VEC_PUSH(&b->ranges);
    if (!r)
        return -ENOMEM;
    *r = (struct dwarf_range){.lo = lo, .hi = hi, .seq = (u32)(b->ranges.n - 1) & INT32_MAX, .function = x->function};
    return 0;
}

static u32 name_of(struct dwarf_builder *b, const struct dwarf_die *o, u64 off)
{
    if (o->linkage_name && *o->linkage_name)
        return dwarf_intern(b, o->linkage_name);
    return o->origin ? dwarf_intern_die(b, o->origin_file, o->origin) : dwarf_intern_die(b, b->from, off);
}

/* A function, or a call inlined into node *node; *node becomes what calls below it are inlined into. Names are taken
 * only of what is left: linkers drop much, and its names stay in the file. */
static int add_code(struct dwarf_builder *b, const struct dwarf_die *o, u64 off, bool function, u32 *node)
{
    size_t before = b->ranges.n;
    u32 caller = function ? 0 : *node, file = 0;
    if (!function && !caller) /* into nothing that has code */
        return 0;
    struct range_use x = {b, function};
    int err = dwarf_die_ranges(b->from, b->code, o, add_range, &x);
    err = err == -EBADMSG ? 0 : err;
    if (b->ranges.n == before) { /* dropped by the linker, or nothing is left of the call */
        *node = caller;
        return err;
    }
    if (!function && o->has_call_file)
        file = dwarf_intern_file(b, o->call_file);
    *node = add_node(b, caller, name_of(b, o, off), file, function ? 0 : o->call_line);
    for (size_t i = before; i < b->ranges.n; i++)
        b->ranges.v[i].node = *node;
    b->functions += function;
    return *node ? err : -ENOMEM;
}

struct walk {
    struct dwarf_builder *b;
    const struct dwarf_abbrevs *t;
    struct cursor c;
    u32 node[DWARF_MAX_DEPTH]; /* that an entry of this depth is in */
    unsigned depth;
};

/* One entry. 0, 1: the last one, -errno. */
static int step(struct walk *w)
{
    struct dwarf_builder *b = w->b;
    u64 off = b->from->window_at + w->c.pos, code = read_uleb(&w->c);
    if (!code)
        return !w->depth || !--w->depth;
    const struct dwarf_abbrev *a = dwarf_abbrev_find(w->t, code);
    u32 here = w->node[w->depth];
    int err = a ? 0 : -EBADMSG;
    if (a && a->kind != DIE_OTHER) {
        struct dwarf_die o;
        dwarf_die_read(&w->c, b->from, b->code, w->t, a, &o);
        err = w->c.bad ? 0 : add_code(b, &o, off, a->kind == DIE_FUNCTION, &here);
    } else if (a) {
        dwarf_die_skip(&w->c, w->t, a, b->code);
    }
    if (err || w->c.bad)
        return err ? err : -EBADMSG;
    if (!a->children)
        return 0;
    if (w->depth + 1 >= DWARF_MAX_DEPTH) {
        b->cuts |= DWARF_CUT_DEPTH;
        return -ENOSPC;
    }
    w->node[++w->depth] = here;
    return 0;
}

int dwarf_walk(struct dwarf_builder *b)
{
    AUTO_ABBREVS struct dwarf_abbrevs *t = dwarf_abbrevs_get(b->from, b->code);
    struct walk w = {.b = b, .t = t, .c = dwarf_cursor(b->from, b->code, b->code->die)};
    int err = t ? 0 : -ENOMEM;
    while (!err && w.c.pos < w.c.len) {
        if (!dwarf_spend(b->from, 1))
            return -ENOSPC;
        err = step(&w);
    }
    return err < 0 ? err : 0;
}
