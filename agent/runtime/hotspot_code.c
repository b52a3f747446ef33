/* From a place in compiled code to methods. Compilers describe some places of an nmethod, sorted, by PcDescs: each
 * leads to a scope, which is a method and a bytecode in it, and to the scope that this is inlined into
 * (src/hotspot/share/code/debugInfoRec.cpp, pcDesc.hpp, scopeDesc.cpp). Places are those where the virtual machine may
 * look at the stack: all return addresses, and few others. For another one, the next place that is described counts.
 */
#include "runtime/hotspot_internal.h"
#include "runtime/unsigned5.h"
#include <string.h>

#define MAX_BLOB    (1u << 28) /* bytes of an nmethod, or of its data */
#define MAX_INDEX   (1u << 20) /* of metadata */
#define SCOPE_BYTES (4 * UNSIGNED5_MAX_BYTES)

struct code { /* where the parts of an nmethod are */
    u64 method;
    u64 metadata;
    u64 pcs, scopes, scopes_end;
    u32 npcs;
    s32 frame_complete; /* -1: never */
};

enum hotspot_blob hotspot_blob(struct hotspot_query *q, u64 at, char name[HOTSPOT_BLOB_NAME])
{
    const struct xp_jvm *j = &q->h->jvm;
    bool ok = at >= j->low && at < j->high;
    u8 used = (u8)memory_u(q->m, at - j->block_header + q->h->layout.block_used, 1, &ok);
    u64 text = memory_u(q->m, at + j->blob_name, sizeof(u64), &ok);
    if (!ok || used != 1 || !memory_text(q->m, text, name, HOTSPOT_BLOB_NAME))
        return HOTSPOT_NONE;
    return !strcmp(name, "nmethod") ? HOTSPOT_NMETHOD : !strcmp(name, "native nmethod") ? HOTSPOT_NATIVE : HOTSPOT_STUB;
}

/* ---- Parts ------------------------------------------------------------------------------------------------------ */

static bool open_immutable(struct hotspot_query *q, u64 at, struct code *c)
{
    const struct hotspot_layout *l = &q->h->layout;
    bool ok = true;
    u64 data = memory_u(q->m, at + l->immutable, sizeof(u64), &ok);
    u32 size = (u32)memory_u(q->m, at + l->immutable_size, sizeof(u32), &ok);
    u32 pcs = (u32)memory_u(q->m, at + l->scopes_pcs, sizeof(u32), &ok);
    u32 scopes = (u32)memory_u(q->m, at + l->scopes_data, sizeof(u32), &ok);
    if (!ok || pcs > scopes || scopes > size || size > MAX_BLOB)
        return false;
    c->pcs = data + pcs;
    c->npcs = (scopes - pcs) / l->pcdesc_size;
    c->scopes = data + scopes;
    c->scopes_end = data + size;
    return true;
}

static bool open_mutable(struct hotspot_query *q, u64 at, struct code *c)
{
    const struct hotspot_layout *l = &q->h->layout;
    bool ok = true;
    if (l->blob_mutable) {
        c->metadata = memory_u(q->m, at + l->blob_mutable, sizeof(u64), &ok);
        c->metadata += (u32)memory_u(q->m, at + l->blob_relocation, sizeof(u32), &ok);
        return ok;
    }
    c->metadata = at + (u32)memory_u(q->m, at + l->metadata, l->metadata_bytes, &ok);
    if (l->immutable)
        c->metadata += (u32)memory_u(q->m, at + l->blob_data, sizeof(u32), &ok);
    return ok;
}

static bool open_blob(struct hotspot_query *q, u64 at, struct code *c)
{
    const struct hotspot_layout *l = &q->h->layout;
    bool ok = true;
    u32 pcs = (u32)memory_u(q->m, at + l->scopes_pcs, sizeof(u32), &ok);
    u32 end = (u32)memory_u(q->m, at + l->pcs_end, sizeof(u32), &ok);
    u64 scopes = memory_u(q->m, at + l->scopes_data, l->scopes_is_pointer ? sizeof(u64) : sizeof(u32), &ok);
    if (!ok || pcs > end || end > MAX_BLOB)
        return false;
    c->pcs = at + pcs;
    c->npcs = (end - pcs) / l->pcdesc_size;
    c->scopes = l->scopes_is_pointer ? scopes : at + scopes;
    c->scopes_end = c->pcs;
    return c->scopes <= c->pcs;
}

static bool open_code(struct hotspot_query *q, u64 at, struct code *out)
{
    const struct xp_jvm *j = &q->h->jvm;
    struct code c = {0};
    bool ok = true;
    c.method = memory_u(q->m, at + q->h->layout.nmethod_method, sizeof(u64), &ok);
    c.frame_complete = (s32)memory_u(q->m, at + j->blob_frame_complete, j->frame_complete_bytes, &ok);
    if (j->frame_complete_bytes == sizeof(s16))
        c.frame_complete = (s16)c.frame_complete;
    if (!ok || !c.method || !(q->h->layout.immutable ? open_immutable : open_blob)(q, at, &c) ||
        !open_mutable(q, at, &c))
        return false;
    *out = c;
    return true;
}

/* ---- PcDescs ---------------------------------------------------------------------------------------------------- */

/* The scope at a place, as an offset. 0: none is known. The first one and the last one are of no place. */
static u32 find_scope(struct hotspot_query *q, const struct code *c, u32 position)
{
    const struct hotspot_layout *l = &q->h->layout;
    bool ok = true;
    u32 lo = 0, hi = c->npcs;
    while (lo < hi && ok) {
        u32 mid = lo + (hi - lo) / 2;
        s32 pc = (s32)memory_u(q->m, c->pcs + (u64)mid * l->pcdesc_size + l->pcdesc_pc, sizeof(u32), &ok);
        if (pc < (s64)position)
            lo = mid + 1;
        else
            hi = mid;
    }
    u64 at = c->pcs + (u64)lo * l->pcdesc_size + l->pcdesc_scope;
    return ok && lo < c->npcs ? (u32)memory_u(q->m, at, sizeof(u32), &ok) : 0;
}

/* ---- Scopes ----------------------------------------------------------------------------------------------------- */

static u64 metadata_at(struct hotspot_query *q, const struct code *c, u32 index)
{
    bool ok = index && index <= MAX_INDEX; /* 0 is NULL */
    return memory_u(q->m, c->metadata + 8ull * index - 8, sizeof(u64), &ok);
}

/* Reads the scope at *offset, and moves that on to the one that it is inlined into; 0: there is none. Those were
 * written before, so that there are no cycles. */
static bool read_scope(struct hotspot_query *q, const struct code *c, u32 *offset, struct hotspot_scope *out)
{
    u8 bytes[SCOPE_BYTES], zero = q->h->layout.byte_zero;
    u64 at = c->scopes + *offset, left = at < c->scopes_end ? c->scopes_end - at : 0;
    size_t len = left < sizeof(bytes) ? left : sizeof(bytes);
    if (!memory_near(q->m, at, bytes, len))
        return false;
    struct cursor cur = cursor_of(bytes, len);
    u32 sender = unsigned5(&cur, zero), method = unsigned5(&cur, zero), bci = unsigned5(&cur, zero);
    u64 found = cur.bad || sender >= *offset ? 0 : metadata_at(q, c, method);
    if (!found)
        return false;
    *out = (struct hotspot_scope){.method = found, .bci = bci ? bci - 1 : 0}; /* -1: at the entry */
    *offset = sender;
    return true;
}

bool hotspot_scopes(struct hotspot_query *q, u64 nmethod, u32 position, bool exact, struct hotspot_scopes *out)
{
    struct code c;
    bool ok = true, whole = false;
    out->n = 0;
    out->level = (u8)memory_u(q->m, nmethod + q->h->layout.nmethod_level, 1, &ok);
    if (!ok || !open_code(q, nmethod, &c))
        return false;
    bool entry = exact && position < (s64)c.frame_complete; /* it has not begun */
    u32 offset = entry ? 0 : find_scope(q, &c, position);
    while (offset && out->n < HOTSPOT_MAX_SCOPES - 1 && read_scope(q, &c, &offset, &out->v[out->n])) {
        out->n++;
        whole = !offset;
    }
    q->reply.cut |= offset && out->n == HOTSPOT_MAX_SCOPES - 1;
    if (!whole)
        out->v[out->n++] = (struct hotspot_scope){.method = c.method, .bci = entry ? 0 : XP_JAVA_NO_BCI};
    return true;
}
