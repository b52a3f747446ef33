/* The frames of an address: inlined calls, each inside of the next, then the function. */
#include "runtime/gopclntab_internal.h"

#define WRAPPER_SAMPLE 4096 /* functions among which to look for wrappers: one in twenty is */

/* Long names are paid for like steps. */
static struct go_text text_at(struct gopclntab *t, struct go_bytes b, u32 at)
{
    struct go_text text = go_text_at(b, at);
    t->steps -= text.len / 16 < t->steps ? text.len / 16 : t->steps;
    return text;
}

static void set_line(struct gopclntab *t, const struct go_func *f, u64 address, struct go_frame *out)
{
    s32 file, line;
    if (!go_value(t, f, f->file, address, &file) || !go_value(t, f, f->line, address, &line) || file < 0 || line < 0)
        return;
    u32 at = go_u32(t->units, ((u64)f->unit + (u32)file) * 4);
    out->file = text_at(t, t->files, at);
    out->line = (u32)line;
}

/* A call that was inlined. */
struct call {
    u32 name;
    u32 parent; /* of an instruction at the place of the call: bytes from the function's entry */
    u8 id;
};

static bool call_at(const struct gopclntab *t, const struct go_func *f, u32 i, struct call *out)
{
    size_t left, size = t->layout >= GO_1_20 ? 16 : 20;
    const u8 *p = f->tree ? elf_at(t->elf, f->tree, &left) : NULL;
    if (!p || (u64)i * size + size > left)
        return false;
    struct go_bytes b = {p + i * size, size};
    if (t->layout >= GO_1_20) /* id, 3 bytes, name, parent, line of the function */
        *out = (struct call){.id = b.data[0], .name = go_u32(b, 4), .parent = go_u32(b, 8)};
    else /* s16 index of the outer call, id, a byte, file, line, name, parent */
        *out = (struct call){.id = b.data[2], .name = go_u32(b, 12), .parent = go_u32(b, 16)};
    return true;
}

/* FuncIDWrapper is the last of its enumeration in all versions, though not always the same number; programs have many
 * wrappers, and other special functions once each. */
static bool is_wrapper(struct gopclntab *t, u8 id)
{
    struct go_func f;
    u64 step = t->nfuncs / WRAPPER_SAMPLE + 1;
    for (u64 i = 0; id && !t->wrapper_known && i < t->nfuncs; i += step)
        if (go_func_read(t, i, &f) && f.id > t->wrapper)
            t->wrapper = f.id;
    t->wrapper_known |= id != 0;
    return id && id == t->wrapper;
}

static void add_frame(struct gopclntab *t, const struct go_func *f, u32 name, u64 address, struct go_frames *out)
{
    struct go_frame *frame = &out->v[out->n++];
    *frame = (struct go_frame){.name = text_at(t, t->names, name)};
    set_line(t, f, address, frame);
}

/* As the runtime expands a pc (inlineUnwinder in Go's src/runtime/symtabinl.go). */
static void add_frames(struct gopclntab *t, const struct go_func *f, u64 address, struct go_frames *out)
{
    struct call call;
    s32 i;
    for (u32 depth = 1; depth < GO_MAX_FRAMES; depth++) {
        if (!go_value(t, f, f->inlined, address, &i) || i < 0 || !call_at(t, f, (u32)i, &call))
            break;
        if (!is_wrapper(t, call.id))
            add_frame(t, f, call.name, address, out);
        address = f->entry + call.parent;
    }
    if (!out->n || !is_wrapper(t, f->id))
        add_frame(t, f, f->name, address, out);
}

bool go_frames_at(struct gopclntab *t, u64 offset, struct go_frames *out)
{
    const struct elf_segment *s = elf_segment_of(t->elf, offset, PF_X);
    struct go_func f;
    if (!s || !go_func_at(t, s->vaddr + (offset - s->offset), &f))
        return false;
    const struct elf_segment *start = elf_segment_at(t->elf, f.entry, PF_X);
    out->start = start ? start->offset + (f.entry - start->vaddr) : offset;
    out->n = 0;
    add_frames(t, &f, s->vaddr + (offset - s->offset), out);
    return true;
}

bool go_name_split(struct go_text name, struct go_text *head, struct go_text *tail)
{
    const char *open = name.len ? memchr(name.data, '[', name.len) : NULL;
    const char *close = name.len ? memrchr(name.data, ']', name.len) : NULL;
    if (!open || !close || close < open)
        return false;
    *head = (struct go_text){name.data, (u32)(open - name.data)};
    *tail = (struct go_text){close + 1, (u32)(name.data + name.len - (close + 1))};
    return true;
}
