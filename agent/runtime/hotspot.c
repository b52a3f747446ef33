/* The row of HotSpot in the table of runtimes, and where a process has its code. */
#include "runtime/attach.h"
#include "runtime/hotspot_internal.h"
#include "runtime/runtime.h"
#include "runtime/sound.h"
#include <errno.h>
#include <string.h>

#define MAX_SHIFT 30

/* ---- Heaps ------------------------------------------------------------------------------------------------------ */

static u64 pointer(struct memory *m, u64 at, u64 offset)
{
    u64 v;
    return at && memory_near(m, at + offset, &v, sizeof(v)) ? v : 0;
}

/* The addresses of the heaps. Returns how many there are. */
static u32 list_heaps(struct memory *m, const struct hotspot_structs *s, u64 out[XP_JVM_HEAPS])
{
    const struct hotspot_field *f = s->fields;
    u32 len = 0;
    if (!f[FIELD_CACHE_HEAPS].found) {
        out[0] = pointer(m, f[FIELD_CACHE_HEAP].value, 0);
        return out[0] != 0;
    }
    const struct hotspot_field *at = &f[f[FIELD_ARRAY_LEN].found ? FIELD_ARRAY_LEN : FIELD_ARRAY_LEN_9];
    u64 list = pointer(m, f[FIELD_CACHE_HEAPS].value, 0), data = pointer(m, list, f[FIELD_ARRAY_DATA].value);
    if (!data || !memory_near(m, list + at->value, &len, sizeof(len)))
        return 0;
    for (u32 i = 0; i < len && i < XP_JVM_HEAPS; i++)
        out[i] = pointer(m, data, i * sizeof(u64));
    return len;
}

/* *end: of the memory that is in use. */
static bool read_heap(struct memory *m, const struct hotspot_structs *s, u64 at, struct xp_jvm_heap *out, u64 *end)
{
    const struct hotspot_field *f = s->fields;
    u64 memory = f[FIELD_HEAP_MEMORY].value, segmap = f[FIELD_HEAP_SEGMAP].value;
    struct xp_jvm_heap h = {.low = pointer(m, at, memory + f[FIELD_SPACE_LOW_BOUNDARY].value),
                            .high = pointer(m, at, memory + f[FIELD_SPACE_HIGH_BOUNDARY].value),
                            .segmap = pointer(m, at, segmap + f[FIELD_SPACE_LOW].value)};
    bool got = memory_near(m, at + f[FIELD_HEAP_SHIFT].value, &h.shift, sizeof(h.shift));
    *out = h;
    *end = pointer(m, at, memory + f[FIELD_SPACE_HIGH].value);
    return got && h.low < h.high && h.shift && h.segmap; /* else it is just being made */
}

static bool can_have_heaps(const struct hotspot_field *f)
{
    static const u8 all[] = {FIELD_HEAP_MEMORY,         FIELD_HEAP_SEGMAP, FIELD_HEAP_SHIFT, FIELD_SPACE_LOW_BOUNDARY,
                             FIELD_SPACE_HIGH_BOUNDARY, FIELD_SPACE_LOW,   FIELD_SPACE_HIGH};
    for (unsigned i = 0; i < sizeof(all); i++)
        if (!f[all[i]].found)
            return false;
    if (!f[FIELD_CACHE_HEAPS].found)
        return f[FIELD_CACHE_HEAP].found;
    return f[FIELD_ARRAY_DATA].found && (f[FIELD_ARRAY_LEN].found || f[FIELD_ARRAY_LEN_9].found);
}

/* 0; -EAGAIN: the interpreter, which is made after the heaps, is not there yet; -ENOTSUP. */
static int read_heaps(struct memory *m, const struct hotspot_structs *s, struct xp_jvm *j, u64 ends[XP_JVM_HEAPS])
{
    const struct hotspot_field *f = s->fields;
    u64 at[XP_JVM_HEAPS] = {0};
    if (!can_have_heaps(f))
        return -ENOTSUP;
    u32 n = list_heaps(m, s, at);
    if (!n || (f[FIELD_INTERPRETER].found && !pointer(m, f[FIELD_INTERPRETER].value, 0)))
        return -EAGAIN;
    if (n > XP_JVM_HEAPS)
        return -ENOTSUP;
    j->low = UINT64_MAX;
    for (u32 i = 0; i < n; i++) {
        if (!read_heap(m, s, at[i], &j->heap[i], &ends[i]))
            return -EAGAIN;
        j->low = j->heap[i].low < j->low ? j->heap[i].low : j->low;
        j->high = j->heap[i].high > j->high ? j->heap[i].high : j->high;
    }
    return 0;
}

/* ---- The process ------------------------------------------------------------------------------------------------ */

static int read_module(struct memory *m, const struct module *mod, struct hotspot_found *out)
{
    *out = (struct hotspot_found){0};
    int rc = hotspot_structs_read(m, mod, &out->structs);
    if (!rc)
        rc = hotspot_layout(m, &out->structs, &out->h);
    if (!rc)
        rc = read_heaps(m, &out->structs, &out->h.jvm, out->ends);
    return !rc && hotspot_check(&out->h, sizeof(out->h)) ? -ENOTSUP : rc;
}

/* A file that is mapped from its start; the first such module counts that can be read. */
int hotspot_find(struct memory *m, struct hotspot_found *out)
{
    int rc = -ENODATA;
    struct module_walk walk = {0};
    struct module mod;
    while (rc && module_next(m, &walk, &mod)) {
        if (module_symbol(m, &mod, "gHotSpotVMStructs"))
            rc = read_module(m, &mod, out);
        else if (rc == -ENODATA && module_symbol(m, &mod, "J9_CreateJavaVM"))
            rc = -ENOTSUP;
    }
    return rc;
}

static int attach(struct memory *m, struct buf *out)
{
    struct hotspot_found found;
    int rc = hotspot_find(m, &found);
    if (rc)
        return rc;
    hotspot_threads(m, found.ends, &found.h);
    return attach_reply(out, &found.h, sizeof(found.h));
}

/* ---- Checks ----------------------------------------------------------------------------------------------------- */

static bool heap_fits(const struct xp_jvm *j, const struct xp_jvm_heap *h)
{
    if (!h->low && !h->high)
        return true;
    return h->low < h->high && h->low >= j->low && h->high <= j->high && h->shift && h->shift <= MAX_SHIFT &&
           h->segmap && h->segmap < MAX_ADDRESS && !h->pad;
}

static bool jvm_fits(const struct xp_jvm *j)
{
    const u16 offsets[] = {
        j->block_header,   j->blob_name,    j->blob_frame_size, j->blob_frame_complete, j->blob_code, j->method_id,
        j->method_orig_pc, j->method_deopt, j->method_deopt_mh, j->constmethod,         j->bytecodes, j->const_pool,
        j->pool_holder,    j->klass_name,   j->symbol_hash,     j->thread_entry,        j->entry_size};
    for (unsigned i = 0; i < XP_JVM_HEAPS; i++)
        if (!heap_fits(j, &j->heap[i]))
            return false;
    return offsets_sound(offsets, sizeof(offsets) / sizeof(*offsets), MAX_OFFSET) && j->low < j->high &&
           j->high < MAX_ADDRESS && j->return_barrier < MAX_ADDRESS && j->entry_return < MAX_ADDRESS &&
           (j->frame_complete_bytes == 2 || j->frame_complete_bytes == 4) && j->code_is_offset <= 1 &&
           j->deopt_is_offset <= 1 && j->bcp_slot && j->bcp_slot <= 16 && !j->pad[0] && !j->pad[1] && j->bytecodes &&
           j->block_header;
}

static bool layout_fits(const struct hotspot_layout *l)
{
    const u16 offsets[] = {l->block_used,      l->blob_size,      l->blob_data,       l->blob_mutable,
                           l->blob_relocation, l->nmethod_method, l->nmethod_level,   l->nmethod_state,
                           l->metadata,        l->scopes_data,    l->scopes_pcs,      l->pcs_end,
                           l->immutable,       l->immutable_size, l->pcdesc_size,     l->pcdesc_pc,
                           l->pcdesc_scope,    l->const_name,     l->const_signature, l->const_code_size,
                           l->const_flags,     l->pool_size,      l->pool_file,       l->klass_file,
                           l->klass_pool,      l->pool_length,    l->symbol_length,   l->symbol_body};
    return offsets_sound(offsets, sizeof(offsets) / sizeof(*offsets), MAX_OFFSET) &&
           l->pcdesc_size >= 2 * sizeof(u32) && l->pcdesc_size <= 256 && l->pcdesc_pc <= l->pcdesc_size - sizeof(u32) &&
           l->pcdesc_scope <= l->pcdesc_size - sizeof(u32) && (l->metadata_bytes == 2 || l->metadata_bytes == 4) &&
           l->scopes_is_pointer <= 1 && l->byte_zero <= 1;
}

int hotspot_check(const void *data, size_t len)
{
    struct hotspot h;
    if (len != sizeof(h))
        return -EBADMSG;
    memcpy(&h, data, sizeof(h));
    return jvm_fits(&h.jvm) && layout_fits(&h.layout) && version_sound(h.version, sizeof(h.version)) ? 0 : -EBADMSG;
}

static void machine(const void *attached, struct xp_machine *out)
{
    out->kind = XP_MACHINE_JVM;
    memcpy(&out->jvm, (const char *)attached + offsetof(struct hotspot, jvm), sizeof(out->jvm));
}

static const struct runtime_memory_ops ops = {
    .attach = attach, .check = hotspot_check, .machine = machine, .names = hotspot_names, .about = hotspot_about};
const struct runtime runtime_hotspot = {.name = "hotspot", .memory = &ops};
