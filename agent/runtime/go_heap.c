#include "runtime/go_heap.h"
#include "runtime/gopclntab_internal.h"
#include <string.h>

#define MAX_CODE 4096 /* bytes of a function that are looked at */
#define LOAD_LEN 6    /* opcode, ModRM, displacement */

/* A load of a variable by its distance from the next instruction: `mov reg, [rip + disp32]`. */
static bool is_load(const u8 *code, size_t at, bool wide)
{
    bool rex = at && (code[at - 1] & 0xf8) == 0x48;
    return code[at] == 0x8b && (code[at + 1] & 0xc7) == 0x05 && rex == wide;
}

/* Whether the variable can be one: writable, but no code. It may be in .bss, which the file does not have. */
static bool is_variable(const struct elf_file *e, u64 address, u64 size)
{
    return !(address % size) && !elf_segment_at(e, address, PF_X);
}

/* The link-time address of the first variable that a function loads, or of the last one; 0: none. `size`: 8 or 4. */
static u64 loaded(const struct elf_file *e, const struct go_func *f, u64 size, bool last)
{
    size_t left = 0;
    const u8 *code = f->end > f->entry && elf_segment_at(e, f->entry, PF_X) ? elf_at(e, f->entry, &left) : NULL;
    u64 len = f->end - f->entry < left ? f->end - f->entry : left, found = 0;
    len = len < MAX_CODE ? len : MAX_CODE;
    for (size_t at = 0; code && at + LOAD_LEN <= len && (last || !found); at++) {
        s32 distance;
        memcpy(&distance, code + at + 2, sizeof(distance));
        u64 address = f->entry + at + LOAD_LEN + (u64)(s64)distance;
        if (is_load(code, at, size == 8) && is_variable(e, address, size))
            found = address;
    }
    return found;
}

/* The functions that use the variables, each of which has not changed in that since Go 1.18. */
static void look_at(const struct gopclntab *t, const struct go_func *f, struct go_heap *out)
{
    struct go_text name = go_text_at(t->names, f->name);
    if (go_text_is(name, "runtime.mProf_FlushLocked"))
        out->buckets = loaded(t->elf, f, 8, false);
    else if (go_text_is(name, "runtime.mProf_Flush"))
        out->cycle = loaded(t->elf, f, 4, false);
    else if (go_text_is(name, "runtime.profilealloc"))
        out->rate = loaded(t->elf, f, 8, true);
}

static u64 to_distance(u64 address, const struct elf_segment *code)
{
    return address ? address - code->vaddr + code->offset : 0;
}

void go_heap_find(const struct elf_file *e, struct go_heap *out)
{
    struct gopclntab t;
    struct go_func f;
    *out = (struct go_heap){.magic = GO_HEAP_MAGIC};
    if (go_open(&t, e) || t.layout < GO_1_18 || !t.nfuncs || !go_func_read(&t, 0, &f))
        return;
    const struct elf_segment *code = elf_segment_at(e, f.entry, PF_X);
    for (u64 i = 0; code && i < t.nfuncs && !(out->buckets && out->cycle && out->rate); i++)
        if (go_func_read(&t, i, &f))
            look_at(&t, &f, out);
    out->found = out->buckets != 0;
    if (!out->found)
        return;
    out->buckets = to_distance(out->buckets, code);
    out->cycle = to_distance(out->cycle, code);
    out->rate = to_distance(out->rate, code);
}

int go_heap_read(int fd, struct go_heap *out)
{
    AUTO_ELF struct elf_file e = {0};
    int err = elf_open(&e, fd);
    if (!err)
        go_heap_find(&e, out);
    return err;
}

bool go_heap_sound(const void *data, size_t len)
{
    struct go_heap h;
    if (len != sizeof(h))
        return false;
    memcpy(&h, data, sizeof(h));
    return h.magic == GO_HEAP_MAGIC && h.found <= 1 && (!h.found || h.buckets);
}
