/* Which of the fields a HotSpot has, and what follows from that. What is read of one version only is said there. */
#include "runtime/hotspot_internal.h"
#include <errno.h>
#include <string.h>

#define MAX_OFFSET 4096 /* of a field: JavaThread has 2,216 bytes */
#define MAX_SIZE   1024 /* of a structure that is followed by something */

struct chooser {
    const struct hotspot_structs *s;
    bool missing;
};

static bool has(const struct chooser *c, enum hotspot_field_id id)
{
    return c->s->fields[id].found;
}

/* The offset of a field that must exist. */
static u16 need(struct chooser *c, enum hotspot_field_id id)
{
    const struct hotspot_field *f = &c->s->fields[id];
    if (!f->found || f->is_static || f->value > MAX_OFFSET)
        c->missing = true;
    return c->missing ? 0 : (u16)f->value;
}

static u16 maybe(struct chooser *c, enum hotspot_field_id id)
{
    return has(c, id) ? need(c, id) : 0;
}

/* The first of two that exists, and one must. */
static u16 either(struct chooser *c, enum hotspot_field_id a, enum hotspot_field_id b)
{
    return need(c, has(c, a) ? a : b);
}

static u16 size_of(struct chooser *c, enum hotspot_type_id id)
{
    u64 size = c->s->sizes[id];
    if (!size || size > MAX_SIZE)
        c->missing = true;
    return c->missing ? 0 : (u16)size;
}

/* ---- For the unwinder ------------------------------------------------------------------------------------------- */

static void choose_deopt(struct chooser *c, struct xp_jvm *j)
{
    if (has(c, FIELD_COMPILED_DEOPT)) {
        j->method_deopt = need(c, FIELD_COMPILED_DEOPT);
        j->method_deopt_mh = maybe(c, FIELD_COMPILED_DEOPT_MH);
        return;
    }
    j->deopt_is_offset = 1;
    j->method_deopt = has(c, FIELD_NMETHOD_DEOPT) ? need(c, FIELD_NMETHOD_DEOPT)
                                                  : either(c, FIELD_NMETHOD_DEOPT_26, FIELD_NMETHOD_DEOPT_8);
    j->method_deopt_mh =
        has(c, FIELD_NMETHOD_DEOPT_MH) ? need(c, FIELD_NMETHOD_DEOPT_MH) : maybe(c, FIELD_NMETHOD_DEOPT_MH_8);
}

static void choose_jvm(struct chooser *c, struct xp_jvm *j)
{
    j->block_header = size_of(c, TYPE_BLOCK);
    j->blob_name = need(c, FIELD_BLOB_NAME);
    j->blob_frame_size = need(c, FIELD_BLOB_FRAME_SIZE);
    j->blob_frame_complete = need(c, FIELD_BLOB_FRAME_COMPLETE);
    j->frame_complete_bytes = c->s->fields[FIELD_BLOB_FRAME_COMPLETE].is_short ? 2 : 4;
    j->blob_code = either(c, FIELD_BLOB_CODE_BEGIN, FIELD_BLOB_CODE_OFFSET);
    j->code_is_offset = !has(c, FIELD_BLOB_CODE_BEGIN);
    j->method_id = need(c, FIELD_NMETHOD_ID);
    j->method_orig_pc = need(c, FIELD_NMETHOD_ORIG_PC);
    choose_deopt(c, j);
    j->constmethod = need(c, FIELD_METHOD_CONST);
    j->bytecodes = size_of(c, TYPE_CONST_METHOD);
    j->const_pool = need(c, FIELD_CONST_POOL);
    j->pool_holder = need(c, FIELD_POOL_HOLDER);
    j->klass_name = need(c, FIELD_KLASS_NAME);
    j->symbol_hash = either(c, FIELD_SYMBOL_HASH, FIELD_SYMBOL_HASH_8);
    if (has(c, FIELD_SYMBOL_HASH))
        j->symbol_hash += 2; /* the upper half of a number */
    /* JDK 9 put the class's mirror into the frame of the interpreter, and the heaps into a list. */
    j->bcp_slot = has(c, FIELD_CACHE_HEAPS) ? 8 : 7;
    if (has(c, FIELD_THREAD_ENTRY) && has(c, FIELD_ENTRY_RETURN) && c->s->sizes[TYPE_ENTRY]) {
        j->thread_entry = need(c, FIELD_THREAD_ENTRY);
        j->entry_size = size_of(c, TYPE_ENTRY);
    }
}

/* ---- For names -------------------------------------------------------------------------------------------------- */

/* Until 22, all is in the blob. Since 23, what does not change is elsewhere, since 25 also what does. */
static void choose_code(struct chooser *c, struct hotspot_layout *l)
{
    bool immutable = has(c, FIELD_NMETHOD_IMMUTABLE), apart = immutable && has(c, FIELD_BLOB_MUTABLE);
    l->nmethod_method = either(c, FIELD_COMPILED_METHOD, FIELD_NMETHOD_METHOD);
    l->nmethod_level = need(c, FIELD_NMETHOD_LEVEL);
    l->nmethod_state = need(c, FIELD_NMETHOD_STATE);
    l->scopes_is_pointer = has(c, FIELD_COMPILED_SCOPES);
    l->scopes_data = either(c, FIELD_COMPILED_SCOPES, FIELD_NMETHOD_SCOPES);
    l->scopes_pcs = need(c, FIELD_NMETHOD_PCS);
    l->pcs_end = immutable ? l->scopes_data : need(c, FIELD_NMETHOD_DEPENDENCIES);
    l->immutable = immutable ? need(c, FIELD_NMETHOD_IMMUTABLE) : 0;
    l->immutable_size = immutable ? need(c, FIELD_NMETHOD_IMMUTABLE_SIZE) : 0;
    l->blob_mutable = apart ? need(c, FIELD_BLOB_MUTABLE) : 0;
    l->blob_relocation = apart ? need(c, FIELD_BLOB_RELOCATION) : 0;
    l->blob_data = immutable ? need(c, FIELD_BLOB_DATA_OFFSET) : 0;
    l->metadata = apart ? 0 : need(c, FIELD_NMETHOD_METADATA);
    l->metadata_bytes = c->s->fields[FIELD_NMETHOD_METADATA].is_short ? 2 : 4;
    l->pcdesc_size = size_of(c, TYPE_PCDESC);
    l->pcdesc_pc = need(c, FIELD_PCDESC_PC);
    l->pcdesc_scope = need(c, FIELD_PCDESC_SCOPE);
}

static void choose_method(struct chooser *c, struct hotspot_layout *l)
{
    const u64 *constants = c->s->constants;
    l->const_name = need(c, FIELD_CONST_NAME);
    l->const_signature = need(c, FIELD_CONST_SIGNATURE);
    l->const_code_size = need(c, FIELD_CONST_CODE_SIZE);
    l->const_flags = either(c, FIELD_CONST_FLAGS, FIELD_CONST_FLAGS_8);
    l->lines_flag =
        (u16)(constants[CONSTANT_LINES_FLAG] ? constants[CONSTANT_LINES_FLAG] : constants[CONSTANT_LINES_FLAG_8]);
    l->pool_size = size_of(c, TYPE_POOL);
    l->pool_length = need(c, FIELD_POOL_LENGTH);
    l->pool_file = maybe(c, FIELD_POOL_FILE);
    l->klass_file = l->pool_file ? 0 : maybe(c, FIELD_KLASS_FILE);
    l->klass_pool = need(c, FIELD_KLASS_POOL);
    l->symbol_body = either(c, FIELD_SYMBOL_BODY, FIELD_SYMBOL_BODY_0);
    l->symbol_length = either(c, FIELD_SYMBOL_LENGTH, FIELD_SYMBOL_LENGTH_12);
    if (!has(c, FIELD_SYMBOL_LENGTH))
        l->symbol_length += 2; /* 12 to 14: the upper half of a number */
}

/* ---- Version ---------------------------------------------------------------------------------------------------- */

static void read_version(struct memory *m, const struct hotspot_structs *s, char *out, size_t size)
{
    const struct hotspot_field *f = &s->fields[FIELD_VM_RELEASE];
    u64 at;
    if (!f->found || !f->is_static || !memory_near(m, f->value, &at, sizeof(at)) || !memory_text(m, at, out, size)) {
        *out = 0;
        return;
    }
    for (char *p = out; *p; p++)
        if (*p <= ' ' || *p > '~')
            *p = '?';
}

/* No structure tells how numbers are stored. JDK 8 has a version of its own. */
static void choose_by_version(struct memory *m, struct chooser *c, struct hotspot_layout *l)
{
    const struct hotspot_field *f = &c->s->fields[FIELD_VM_MAJOR];
    u32 major = 0;
    if (!f->found || !f->is_static || !memory_near(m, f->value, &major, sizeof(major)))
        c->missing = true;
    bool old = !has(c, FIELD_CACHE_HEAPS);
    l->byte_zero = !old && major >= 20;
    l->dead_state = old ? 2 : 3; /* zombie, unloaded; since 20 there are none */
}

int hotspot_layout(struct memory *m, const struct hotspot_structs *s, struct hotspot *out)
{
    struct chooser c = {.s = s};
    struct hotspot h = {0};
    choose_jvm(&c, &h.jvm);
    choose_code(&c, &h.layout);
    choose_method(&c, &h.layout);
    h.layout.blob_size = need(&c, FIELD_BLOB_SIZE);
    h.layout.block_used = need(&c, FIELD_BLOCK_HEADER) + need(&c, FIELD_BLOCK_USED);
    choose_by_version(m, &c, &h.layout);
    read_version(m, s, h.version, sizeof(h.version));
    if (c.missing)
        return -ENOTSUP;
    const struct hotspot_field *ret = &s->fields[FIELD_ENTRY_RETURN];
    if (h.jvm.thread_entry && (!ret->is_static || !memory_near(m, ret->value, &h.jvm.entry_return, sizeof(u64))))
        return -ENOTSUP;
    *out = h;
    return 0;
}
