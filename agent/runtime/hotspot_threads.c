/* How stacks of virtual threads go on. Callers that have not run since a virtual thread was mounted are frozen in the
 * heap, and the last frame on its stack returns to a barrier, which thaws them; behind that is the frame that it was
 * mounted by. HotSpot does not export the barrier, and until 24 nothing of that frame, so that both are read off the
 * code that it makes (src/hotspot/cpu/x86/stubGenerator_x86_64.cpp: generate_cont_thaw; sharedRuntime_x86_64.cpp:
 * gen_continuation_enter):
 *
 *   thaw:     the first of the "continuation stubs"
 *   barrier:  the first place there that begins with: mov rsp, [r15 + JavaThread._cont_entry]
 *   mounting: the native method with a call of thaw; behind that is where the barrier returns to. It ends with
 *             add rsp, sizeof(ContinuationEntry); pop rbp
 */
#include "runtime/hotspot_internal.h"
#include <string.h>

#define MAX_CODE  4096 /* bytes of a piece that are looked at */
#define MAX_BLOBS 2048 /* of a heap: both pieces are made early */

struct finder {
    struct hotspot_query *q;
    struct xp_jvm *j;
    u64 thaw;
    u32 blobs;
};
struct piece {
    u64 at;
    size_t len;
    u8 code[MAX_CODE];
};

static bool read_piece(struct finder *f, u64 blob, struct piece *out)
{
    bool ok = true;
    u64 size = memory_u(f->q->m, blob + f->q->h->layout.blob_size, sizeof(u32), &ok);
    u64 code = memory_u(f->q->m, blob + f->j->blob_code, f->j->code_is_offset ? sizeof(u32) : sizeof(u64), &ok);
    out->at = f->j->code_is_offset ? blob + code : code;
    if (!ok || out->at < blob || out->at - blob >= size)
        return false;
    size -= out->at - blob;
    out->len = size < MAX_CODE ? size : MAX_CODE;
    return memory_near(f->q->m, out->at, out->code, out->len);
}

/* Where some bytes are, from `from` on; NULL: nowhere. */
static const u8 *find_bytes(const struct piece *p, const u8 *from, const void *bytes, size_t n)
{
    return memmem(from, (size_t)(p->code + p->len - from), bytes, n);
}

static void find_barrier(struct finder *f, const struct piece *p)
{
    static const u8 load[] = {0x49, 0x8b, 0xa7};
    u32 offset;
    const u8 *at = find_bytes(p, p->code, load, sizeof(load));
    if (!at || (size_t)(p->code + p->len - at) < sizeof(load) + sizeof(offset))
        return;
    memcpy(&offset, at + sizeof(load), sizeof(offset));
    if (offset > MAX_CODE || (f->j->thread_entry && f->j->thread_entry != offset))
        return;
    f->thaw = p->at;
    f->j->thread_entry = (u16)offset;
    f->j->return_barrier = p->at + (u64)(at - p->code);
}

static void find_mounting(struct finder *f, const struct piece *p)
{
    static const u8 call = 0xe8, add[] = {0x48, 0x83, 0xc4}, pop = 0x5d;
    const u8 *end = p->code + p->len;
    for (const u8 *at = p->code; (at = find_bytes(p, at, &call, 1)) && end - at > 5; at++) {
        s32 distance;
        memcpy(&distance, at + 1, sizeof(distance));
        u64 next = p->at + (u64)(at - p->code) + 5;
        if (next + (u64)(s64)distance != f->thaw)
            continue;
        const u8 *leave = find_bytes(p, at, add, sizeof(add));
        if (!leave || end - leave < 5 || leave[4] != pop || !leave[3] || leave[3] % 8)
            return;
        f->j->entry_return = next;
        f->j->entry_size = leave[3];
        return;
    }
}

static void visit(struct finder *f, u64 blob)
{
    char name[HOTSPOT_BLOB_NAME];
    struct piece p;
    enum hotspot_blob kind = hotspot_blob(f->q, blob, name);
    f->blobs++;
    if (kind == HOTSPOT_STUB && !f->thaw && strstr(name, "ontinuation") && read_piece(f, blob, &p))
        find_barrier(f, &p);
    else if (kind == HOTSPOT_NATIVE && f->thaw && !f->j->entry_return && read_piece(f, blob, &p))
        find_mounting(f, &p);
}

/* The blobs of a heap, as far as its memory is in use: there is a 0 in the segment map where one begins. */
static void visit_heap(struct finder *f, const struct xp_jvm_heap *h, u64 end)
{
    u8 tags[512];
    u64 n = end > h->low && end <= h->high ? (end - h->low) >> h->shift : 0;
    f->blobs = 0;
    for (u64 i = 0; i < n && f->blobs < MAX_BLOBS; i += sizeof(tags)) {
        size_t some = n - i < sizeof(tags) ? n - i : sizeof(tags);
        if (!memory_near(f->q->m, h->segmap + i, tags, some))
            return;
        for (size_t k = 0; k < some; k++)
            if (!tags[k])
                visit(f, h->low + ((i + k) << h->shift) + f->j->block_header);
    }
}

void hotspot_threads(struct memory *m, const u64 ends[XP_JVM_HEAPS], struct hotspot *h)
{
    struct hotspot_query q = {.m = m, .h = h};
    struct finder f = {.q = &q, .j = &h->jvm};
    for (unsigned i = 0; i < XP_JVM_HEAPS && !f.thaw; i++)
        visit_heap(&f, &h->jvm.heap[i], ends[i]);
    for (unsigned i = 0; i < XP_JVM_HEAPS && f.thaw && !h->jvm.entry_return; i++)
        visit_heap(&f, &h->jvm.heap[i], ends[i]);
}
