/* What `inspect` says of a HotSpot: its version, its collector, its code. */
#include "runtime/hotspot_internal.h"
#include <errno.h>
#include <string.h>

#define MAX_FLAGS  8192
#define MAX_FLAG   128
#define MAX_NAME   64
#define MAX_HEADER 32
#define MAX_BLOCKS (1u << 20) /* of all heaps; each takes a segment at least */

/* ---- The collector: the flag that chose it ---------------------------------------------------------------------- */

static const struct {
    const char *flag, *name;
} COLLECTORS[] = {{"UseG1GC", "G1"},
                  {"UseParallelGC", "Parallel"},
                  {"UseSerialGC", "Serial"},
                  {"UseZGC", "ZGC"},
                  {"UseShenandoahGC", "Shenandoah"},
                  {"UseEpsilonGC", "Epsilon"},
                  {"UseConcMarkSweepGC", "CMS"}};

/* The address of the value of the flag that chose the collector, if it is the one at `at`. */
static const char *collector_of(struct memory *m, u64 at, u64 name, u64 address)
{
    char text[MAX_NAME];
    bool ok = true;
    u64 spelling = memory_u(m, at + name, sizeof(u64), &ok);
    if (!ok || !memory_text(m, spelling, text, sizeof(text)))
        return NULL;
    for (size_t i = 0; i < sizeof(COLLECTORS) / sizeof(*COLLECTORS); i++) {
        if (strcmp(text, COLLECTORS[i].flag) != 0)
            continue;
        u64 value = memory_u(m, at + address, sizeof(u64), &ok);
        return memory_u(m, value, 1, &ok) == 1 && ok ? COLLECTORS[i].name : NULL;
    }
    return NULL;
}

static const char *collector(struct memory *m, const struct hotspot_structs *s)
{
    const struct hotspot_field *f = s->fields;
    bool old = !f[FIELD_FLAGS].found, ok = true;
    u64 size = s->sizes[old ? TYPE_FLAG_8 : TYPE_FLAG];
    u64 list = f[old ? FIELD_FLAGS_8 : FIELD_FLAGS].value, count = f[old ? FIELD_FLAG_COUNT_8 : FIELD_FLAG_COUNT].value;
    u64 name = f[old ? FIELD_FLAG_NAME_8 : FIELD_FLAG_NAME].value;
    u64 address = f[old ? FIELD_FLAG_ADDRESS_8 : FIELD_FLAG_ADDRESS].value;
    u64 at = memory_u(m, list, sizeof(u64), &ok), n = memory_u(m, count, sizeof(u64), &ok);
    const char *found = NULL;
    if (!ok || size < 2 * sizeof(u64) || size > MAX_FLAG || name > MAX_FLAG || address > MAX_FLAG)
        return NULL;
    for (u64 i = 0; i < n && i < MAX_FLAGS && !found; i++)
        found = collector_of(m, at + i * size, name, address);
    return found;
}

/* ---- The code heaps: block by block ----------------------------------------------------------------------------- */

struct tally {
    u32 heaps, c1, c2, native;
    u64 reserved, used; /* bytes */
    bool cut;           /* not all could be counted */
};

static void count_blob(struct hotspot_query *q, u64 at, struct tally *t)
{
    char name[HOTSPOT_BLOB_NAME];
    bool ok = true;
    enum hotspot_blob kind = hotspot_blob(q, at, name);
    u8 level = kind == HOTSPOT_NMETHOD ? (u8)memory_u(q->m, at + q->h->layout.nmethod_level, 1, &ok) : 0;
    t->native += kind == HOTSPOT_NATIVE;
    t->c1 += kind == HOTSPOT_NMETHOD && ok && level < 4;
    t->c2 += kind == HOTSPOT_NMETHOD && ok && level >= 4;
}

/* A block begins with its length in segments, a u32 or, in old versions, a size_t, and whether it is in use. Behind
 * the last one there are zeros. */
static void count_heap(struct hotspot_query *q, const struct xp_jvm_heap *h, u64 end, u64 length, struct tally *t)
{
    unsigned blocks = 0;
    bool ok = true;
    t->heaps++;
    t->reserved += h->high - h->low;
    for (u64 at = h->low; at < end && end <= h->high;) {
        u64 segments = memory_u(q->m, at + length, sizeof(u32), &ok), left = (end - at) >> h->shift;
        u64 used = memory_u(q->m, at + q->h->layout.block_used, 1, &ok);
        t->cut |= !ok || segments > left || ++blocks > MAX_BLOCKS;
        if (t->cut || !segments)
            return;
        if (used == 1) {
            t->used += segments << h->shift;
            count_blob(q, at + q->h->jvm.block_header, t);
        }
        at += segments << h->shift;
    }
}

static void count_code(struct memory *m, const struct hotspot_found *found, struct tally *t)
{
    struct hotspot_query q = {.m = m, .h = &found->h};
    const struct hotspot_field *length = &found->structs.fields[FIELD_BLOCK_LENGTH];
    t->cut = !length->found || length->value > MAX_HEADER;
    for (unsigned i = 0; i < XP_JVM_HEAPS && !t->cut; i++)
        if (found->h.jvm.heap[i].low)
            count_heap(&q, &found->h.jvm.heap[i], found->ends[i], length->value, t);
}

/* ---- What is said ----------------------------------------------------------------------------------------------- */

int hotspot_about(struct memory *m, struct buf *out)
{
    struct hotspot_found found;
    struct tally t = {0};
    int rc = hotspot_find(m, &found);
    if (rc)
        return rc;
    const char *gc = collector(m, &found.structs);
    count_code(m, &found, &t);
    buf_printf(out, "machine\tHotSpot %s\n", found.h.version);
    buf_printf(out, "collector\t%s\n", gc ? gc : "not known");
    buf_printf(out, "code\t%u heap%s of %.1f MiB, %.1f MiB in use%s\n", t.heaps, t.heaps == 1 ? "" : "s",
               (double)t.reserved / (1 << 20), (double)t.used / (1 << 20),
               t.cut ? "; not all of it could be read" : "");
    buf_printf(out, "methods\t%u compiled by C1, %u by C2, %u native\n", t.c1, t.c2, t.native);
    return out->failed ? -ENOMEM : 0;
}
