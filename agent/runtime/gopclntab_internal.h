/* Declarations shared by the parts of the Go reader: reads that cannot leave an array, the record of a function, value
 * tables.
 */
#pragma once
#include "base/cursor.h"
#include "runtime/gopclntab.h"

/* Reads outside of the bytes return 0. */
static inline u32 go_u32(struct go_bytes b, u64 at)
{
    u32 v = 0;
    if (at <= b.len && b.len - at >= sizeof(v))
        memcpy(&v, b.data + at, sizeof(v));
    return v;
}
static inline u64 go_u64(struct go_bytes b, u64 at)
{
    u64 v = 0;
    if (at <= b.len && b.len - at >= sizeof(v))
        memcpy(&v, b.data + at, sizeof(v));
    return v;
}
static inline struct go_bytes go_slice(struct go_bytes b, u64 at, u64 len)
{
    if (at > b.len)
        return (struct go_bytes){b.data, 0};
    return (struct go_bytes){b.data + at, len < b.len - at ? len : b.len - at};
}

struct go_func {
    u64 entry, end; /* addresses; padding between two functions belongs to the first */
    u64 tree;       /* address of the inline tree; 0: nothing is inlined */
    u32 name;       /* in names */
    u32 unit;       /* first file of its compilation unit in units */
    u32 file, line; /* value tables */
    u32 inlined;    /* value table: index in the inline tree */
    u32 depth;      /* value table: bytes between rsp and the return address */
    u8 id;          /* FuncID: 0 except for special functions of the runtime and wrappers */
    u8 flags;       /* since 1.18 */
};
/* Go's src/internal/abi/symtab.go: FuncFlagTopFrame, FuncFlagSPWrite, FuncFlagAsm. */
enum { GO_OUTERMOST = 1, GO_SETS_RSP = 2, GO_ASSEMBLY = 4 };

/* Iterates over the runs of a value table: {zigzag difference of the value, bytes of code}, starting with -1 at the
 * entry. A difference of 0 ends it, unless it is the first. */
struct go_runs {
    struct cursor c;
    u64 from, to; /* address range of `value` */
    u32 value;
    bool first;
};
static inline struct go_runs go_runs_of(const struct gopclntab *t, u32 table, u64 entry)
{
    bool there = table && table < t->values.len;
    return (struct go_runs){.c = cursor_of(there ? t->values.data + table : NULL, there ? t->values.len - table : 0),
                            .from = entry,
                            .to = entry,
                            .value = (u32)-1,
                            .first = true};
}
/* Nine out of ten are a single byte. */
static inline u32 go_varint(struct cursor *c)
{
    if (c->pos < c->len && c->base[c->pos] < 0x80)
        return c->base[c->pos++];
    return (u32)cursor_uleb(c);
}
static inline bool go_runs_next(struct go_runs *r)
{
    u32 diff = go_varint(&r->c), code = go_varint(&r->c);
    if (r->c.bad || !code || (!diff && !r->first))
        return false;
    r->first = false;
    r->value += diff & 1 ? ~(diff >> 1) : diff >> 1;
    r->from = r->to;
    r->to += code;
    return true;
}

/* Returns a text in the table, not terminated; long ones are truncated. */
static inline struct go_text go_text_at(struct go_bytes b, u32 at)
{
    size_t left = at < b.len ? b.len - at : 0;
    const char *s = left ? (const char *)b.data + at : NULL;
    return (struct go_text){s, left ? (u32)strnlen(s, left < GO_MAX_NAME ? left : GO_MAX_NAME) : 0};
}
static inline bool go_text_is(struct go_text t, const char *what)
{
    return t.len == strlen(what) && !memcmp(t.data, what, t.len);
}

/* Returns the entry address of function i; for i = nfuncs the end of the last function. */
u64 go_entry(const struct gopclntab *t, u64 i);
/* Reads record i of the index. */
bool go_func_read(const struct gopclntab *t, u64 i, struct go_func *out);
bool go_func_at(const struct gopclntab *t, u64 address, struct go_func *out);
/* Finds the value at an address in f. */
bool go_value(struct gopclntab *t, const struct go_func *f, u32 table, u64 address, s32 *out);

/* Finds moduledata and takes text and gofunc from it. */
bool go_module_find(struct gopclntab *t);
