/* Functions by address, and their value tables. */
#include "runtime/gopclntab_internal.h"

#define PCDATA_INLINED  2 /* Go's src/internal/abi/symtab.go */
#define FUNCDATA_INLINE 3
#define MAX_PCDATA      64 /* there are five */
#define NO_FUNCDATA     0xffffffffu

/* Offsets of a record's fields; then come u32 pcdata[npcdata], and funcdata: u32 from gofunc, before 1.18 addresses. */
struct layout {
    u8 index; /* bytes of an entry: {entry, record}, u32 or u64 each */
    u8 name, depth, file, line, npcdata, unit, id, nfuncdata, pcdata;
};
static const struct layout layouts[] = {
    [GO_1_2] = {16, 8, 20, 24, 28, 32, 0, 0, 0, 0}, /* ids and inlining came, and changed, with 1.9 to 1.15: not read */
    [GO_1_16] = {16, 8, 20, 24, 28, 32, 36, 40, 43, 44},
    [GO_1_18] = {8, 4, 16, 20, 24, 28, 32, 36, 39, 40},
    [GO_1_20] = {8, 4, 16, 20, 24, 28, 32, 40, 43, 44},
};

u64 go_entry(const struct gopclntab *t, u64 i)
{
    return layouts[t->layout].index == 8 ? t->text + go_u32(t->index, i * 8) : go_u64(t->index, i * 16);
}

/* Where the values of inlined calls and the tree that they index are. */
static void read_tree(const struct gopclntab *t, const struct layout *l, struct go_bytes f, u64 at, struct go_func *out)
{
    u64 n = go_u32(f, l->npcdata);
    if (n <= PCDATA_INLINED || n > MAX_PCDATA || f.len <= l->nfuncdata || f.data[l->nfuncdata] <= FUNCDATA_INLINE)
        return;
    u64 funcdata = l->pcdata + 4 * n;
    out->inlined = go_u32(f, l->pcdata + 4 * PCDATA_INLINED);
    if (t->layout < GO_1_18) {
        funcdata += -(at + funcdata) & 7;
        out->tree = go_u64(f, funcdata + 8 * FUNCDATA_INLINE);
    } else if (t->gofunc) {
        u32 offset = go_u32(f, funcdata + 4 * FUNCDATA_INLINE);
        out->tree = offset == NO_FUNCDATA ? 0 : t->gofunc + offset;
    }
}

bool go_func_read(const struct gopclntab *t, u64 i, struct go_func *out)
{
    const struct layout *l = &layouts[t->layout];
    u64 at = l->index == 8 ? go_u32(t->index, i * 8 + 4) : go_u64(t->index, i * 16 + 8);
    struct go_bytes f = go_slice(t->funcs, at, t->funcs.len);
    if (i >= t->nfuncs || f.len < 40)
        return false;
    *out = (struct go_func){
        .entry = go_entry(t, i),
        .end = go_entry(t, i + 1),
        .name = go_u32(f, l->name),
        .depth = go_u32(f, l->depth),
        .file = go_u32(f, l->file),
        .line = go_u32(f, l->line),
    };
    if (t->layout == GO_1_2)
        return true;
    out->unit = go_u32(f, l->unit);
    out->id = l->id < f.len ? f.data[l->id] : 0;
    if (t->layout >= GO_1_18)
        out->flags = l->id + 1u < f.len ? f.data[l->id + 1] : 0;
    read_tree(t, l, f, at, out);
    return true;
}

bool go_func_at(const struct gopclntab *t, u64 address, struct go_func *out)
{
    u64 lo = 0, hi = t->nfuncs;
    if (address < go_entry(t, 0) || address >= go_entry(t, hi))
        return false;
    while (hi - lo > 1) {
        u64 mid = lo + (hi - lo) / 2;
        if (go_entry(t, mid) <= address)
            lo = mid;
        else
            hi = mid;
    }
    return go_func_read(t, lo, out) && out->entry <= address && address < out->end;
}

bool go_value(struct gopclntab *t, const struct go_func *f, u32 table, u64 address, s32 *out)
{
    struct go_runs r = go_runs_of(t, table, f->entry);
    while (t->steps) {
        t->steps--;
        if (!go_runs_next(&r))
            return false;
        if (address < r.to) {
            *out = (s32)r.value;
            return true;
        }
    }
    t->truncated = true;
    return false;
}
