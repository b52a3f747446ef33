/* The encodings of tables in images that were compiled ahead of time (dotnet/runtime: src/coreclr/vm/
 * nativeformatreader.h; docs/design/coreclr/botr/readytorun-format.md, "NativeFormat").
 */
#include "runtime/dotnet_internal.h"

#define BLOCK       16 /* elements of an array that share a tree */
#define MAX_BUCKETS (1u << 24)
#define MAX_ENTRIES (1u << 20) /* of a hash table */

static u32 number(struct memory *m, u64 at, unsigned bytes, bool *ok)
{
    return (u32)memory_u(m, at, bytes, ok);
}

/* The low bits of the first byte say how many bytes there are. */
u32 dotnet_unsigned(struct memory *m, u64 *at, bool *ok)
{
    u32 first = number(m, *at, 1, ok), extra = 0;
    while (extra < 4 && first >> extra & 1)
        extra++;
    u64 from = *at;
    *at += extra + 1;
    if (extra < 4)
        return number(m, from, extra + 1, ok) >> (extra + 1);
    *ok = *ok && !(first & 16);
    return number(m, from + 1, 4, ok);
}

static s32 read_signed(struct memory *m, u64 *at, bool *ok)
{
    u32 first = number(m, *at, 1, ok), extra = 0;
    while (extra < 4 && first >> extra & 1)
        extra++;
    u64 from = *at;
    *at += extra + 1;
    if (extra == 4) {
        *ok = *ok && !(first & 16);
        return (s32)number(m, from + 1, 4, ok);
    }
    u32 bits = 8 * (extra + 1), v = number(m, from, extra + 1, ok);
    return (s32)(v << (32 - bits)) >> (32 - bits + extra + 1);
}

/* ---- Arrays ------------------------------------------------------------------------------------------------------ */

bool dotnet_array_open(struct memory *m, u64 at, struct dotnet_array *out)
{
    bool ok = true;
    u32 v = dotnet_unsigned(m, &at, &ok);
    *out = (struct dotnet_array){.base = at, .n = v >> 2, .index_bytes = (v & 3) < 2 ? 1 + (v & 3) : 4};
    return ok;
}

u64 dotnet_array_find(struct memory *m, const struct dotnet_array *a, u32 index)
{
    bool ok = index < a->n;
    u64 at = a->base + number(m, a->base + (u64)a->index_bytes * (index / BLOCK), a->index_bytes, &ok);
    for (u32 bit = BLOCK / 2; bit && ok; bit >>= 1) { /* a tree: its nodes say which of their halves there are */
        u64 next = at;
        u32 v = dotnet_unsigned(m, &next, &ok);
        if (index & bit ? v & 2 : v & 1)
            at = index & bit ? at + (v >> 2) : next;
        else if (!(v & 3) && v >> 2 == index % BLOCK) /* the only one there */
            return ok ? next : 0;
        else
            return 0;
    }
    return ok ? at : 0;
}

/* ---- Hash tables ------------------------------------------------------------------------------------------------- */

int dotnet_hash_each(struct memory *m, u64 at, int (*each)(void *ctx, u64 entry), void *ctx)
{
    bool ok = true;
    u32 header = number(m, at, 1, &ok), buckets = 1u << (header >> 2 & 31), left = MAX_ENTRIES;
    u32 bytes = (header & 3) < 2 ? 1 + (header & 3) : 4;
    int rc = 0;
    at++;
    for (u32 i = 0; i < buckets && buckets <= MAX_BUCKETS && ok && !rc; i++) {
        u64 from = at + number(m, at + (u64)bytes * i, bytes, &ok);
        u64 to = at + number(m, at + (u64)bytes * (i + 1), bytes, &ok);
        while (from < to && ok && !rc && left--) {
            from++; /* of the hash */
            u64 entry = from;
            s32 distance = read_signed(m, &from, &ok);
            rc = ok ? each(ctx, entry + (u64)(s64)distance) : 0;
        }
    }
    return rc;
}
