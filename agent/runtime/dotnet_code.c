/* From an address to the method whose code is there. In front of a method's code there is a pointer to its
 * RealCodeHeader (src/coreclr/vm/codeman.h), which says how long the code is and which MethodDesc it is of; that one
 * leads to a chunk, its MethodTable and EEClass, and back. So the start of the code is looked for backwards from the
 * address. */
#include "runtime/dotnet_internal.h"
#include "runtime/sound.h"

#define ALIGNED    16 /* where code begins, and heaps */
#define MAX_CODE   (1u << 18)
#define MAX_PARTS  4096
#define PART       12 /* T_RUNTIME_FUNCTION: begin, end, unwind information; relative to the heap's start */
#define DYNAMIC    7  /* mcDynamic */
#define KIND       7  /* of the flags */
#define TOKEN_BITS 24
#define CANONICAL  1 /* of EEClassOrCanonMT: it is a MethodTable, not an EEClass */

static u64 word(struct memory *m, u64 at, bool *ok)
{
    u64 v = at < MAX_ADDRESS ? memory_u(m, at, sizeof(v), ok) : 0;
    *ok = *ok && v < MAX_ADDRESS && v;
    return *ok ? v : 0;
}

/* A MethodTable and the EEClass that belongs to it refer to each other. */
static bool is_table(struct memory *m, const struct dotnet_layout *l, u64 table)
{
    bool ok = true;
    u64 class = word(m, table + l->table_class, &ok), canonical = table;
    if (class & CANONICAL) {
        canonical = class - CANONICAL;
        class = word(m, canonical + l->table_class, &ok);
    }
    return ok && !(class & 7) && word(m, class + l->class_table, &ok) == canonical && ok;
}

bool dotnet_method(struct memory *m, const struct dotnet_layout *l, u64 desc, struct dotnet_method *out)
{
    bool ok = desc && !(desc & 7) && desc < MAX_ADDRESS;
    u64 index = memory_u(m, desc + l->method_index, 1, &ok);
    u64 chunk = desc - index * l->method_unit - l->chunk_bytes;
    u64 table = word(m, chunk + l->chunk_table, &ok);
    if (!ok || table & 7 || !is_table(m, l, table))
        return false;
    u32 low = (u32)memory_u(m, desc + l->method_token, 2, &ok) & ((1u << l->token_bits) - 1);
    u32 high = (u32)memory_u(m, chunk + l->chunk_token, 2, &ok) & ((1u << (TOKEN_BITS - l->token_bits)) - 1);
    u32 kind = (u32)memory_u(m, desc + l->method_flags, 2, &ok) & KIND;
    u32 type = (u32)memory_u(m, table + l->table_token, 4, &ok) >> 8;
    *out = (struct dotnet_method){word(m, table + l->table_module, &ok), type, high << l->token_bits | low,
                                  kind == DYNAMIC};
    return ok;
}

bool dotnet_code_at(struct dotnet_query *q, u64 start, u64 pc, struct dotnet_code *out)
{
    const struct dotnet_layout *l = &q->d->layout;
    struct dotnet_method method;
    bool ok = true;
    u64 header = word(q->m, start - 8, &ok);
    if (!ok || header & 7)
        return false;
    u64 desc = word(q->m, header + l->code_method, &ok), parts = header + l->code_part;
    u64 n = memory_u(q->m, header + l->code_parts, 4, &ok);
    if (!ok || !n || n > MAX_PARTS)
        return false;
    u32 begin = (u32)memory_u(q->m, parts, 4, &ok), end = (u32)memory_u(q->m, parts + PART * (n - 1) + 4, 4, &ok);
    if (!ok || begin >= end || pc - start >= end - begin || (start - begin) % ALIGNED)
        return false;
    *out = (struct dotnet_code){start, start + (end - begin), desc};
    return dotnet_method(q->m, l, desc, &method);
}

bool dotnet_code_of(struct dotnet_query *q, u64 pc, struct dotnet_code *out)
{
    u64 start = pc & ~(u64)(ALIGNED - 1), least = pc < MAX_CODE ? 8 : pc - MAX_CODE;
    for (; start > least && q->search_left; start -= ALIGNED, q->search_left--)
        if (dotnet_code_at(q, start, pc, out))
            return true;
    return false;
}
