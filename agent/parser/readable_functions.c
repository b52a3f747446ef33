#include "parser/readable_functions.h"
#include "dwarf/demangle.h"
#include "elf/elf.h"
#include "elf/functions.h"
#include "elf/mini_debug.h"
#include "synth/insn.h"
#include <errno.h>
#include <string.h>

#define MAX_DECODED (64u << 20) /* bytes of all functions together: of a crafted file, they can be very many */

static bool readable(const char *name, bool parameters, struct buf *out)
{
    return demangle(name, strlen(name), parameters ? DEMANGLE_FULL : DEMANGLE_SHORT, out);
}

/* The code from a place in the file on, to the end of its segment; NULL: there is none. */
static const u8 *code_at(const struct elf_file *e, u64 offset, size_t *left)
{
    const struct elf_segment *s = elf_segment_of(e, offset, PF_X);
    return s ? elf_at(e, offset - s->offset + s->vaddr, left) : NULL;
}

/* Whether an instruction of a function begins `more` bytes behind its beginning. What cannot be decoded is none. */
static bool is_instruction(const struct elf_file *e, const struct function *f, u64 more, size_t *budget)
{
    size_t left = 0;
    u64 at = 0;
    struct insn x;
    const u8 *code = code_at(e, f->offset, &left);
    if (!code || more >= (f->size && f->size < left ? f->size : left) || more > *budget)
        return false;
    *budget -= more;
    while (at < more && insn_decode(code + at, left - at, &x))
        at += x.len;
    return at == more;
}

/* `offset`: behind the beginning of each, or, `bare`, in the file. */
static void mark(const struct elf_file *e, struct functions *f, bool bare, u64 offset)
{
    size_t budget = MAX_DECODED;
    for (u32 i = 0; i < f->n; i++)
        if (!(f->v[i].flags & FUNCTION_INDIRECT) &&
            !is_instruction(e, &f->v[i], bare ? offset - f->v[i].offset : offset, &budget))
            f->v[i].flags |= FUNCTION_BETWEEN;
}

/* Leaves those that have a place in the file. */
static void keep_around(const struct elf_file *e, u64 offset, struct buf *out)
{
    struct functions *f = (void *)out->data;
    size_t left;
    u32 n = 0;
    for (u32 i = 0; i < f->n; i++)
        if (!(f->v[i].flags & FUNCTION_INDIRECT) && f->v[i].offset <= offset && offset - f->v[i].offset < f->v[i].size)
            f->v[n++] = f->v[i];
    memmove(&f->v[n], &f->v[f->n], f->bytes);
    out->len -= (f->n - n) * sizeof(f->v[0]);
    f->n = n;
    f->code = code_at(e, offset, &left) != NULL;
}

/* Sets the readable name of each. */
static void name(struct buf *out)
{
    u32 n = ((struct functions *)out->data)->n;
    for (u32 i = 0; i < n && !out->failed; i++) {
        AUTO_BUF struct buf text = {0};
        struct functions *f = (void *)out->data;
        bool has = readable(functions_name(f, i), true, &text);
        if (text.failed)
            out->failed = true;
        if (!has || text.failed || f->bytes + text.len + 1 > FUNCTIONS_BYTES)
            continue;
        f->v[i].readable = f->bytes;
        f->bytes += (u32)text.len + 1;
        for (size_t c = 0; c < text.len; c++)
            buf_char(out, (char)(text.data[c] >= ' ' && text.data[c] <= '~' ? text.data[c] : '?'));
        buf_char(out, 0);
    }
}

static int find(const struct elf_file *e, const struct elf_file *more, const struct functions_spot *spot,
                struct buf *out)
{
    functions_find_elf(e, more, spot->bare ? "*" : spot->name, spot->bare ? NULL : readable, out);
    if (out->failed)
        return -ENOMEM;
    if (spot->bare)
        keep_around(e, spot->offset, out);
    if (spot->bare || spot->within)
        mark(e, (void *)out->data, spot->bare, spot->offset);
    else
        name(out);
    return out->failed ? -ENOMEM : 0;
}

int readable_functions(int fd, int debug, const char *text, struct buf *out)
{
    struct functions_spot spot;
    AUTO_ELF struct elf_file e = {0};
    AUTO_BYTES struct elf_bytes bytes = {0};
    AUTO_ELF struct elf_file symbols = {0};
    int err = functions_split(text, &spot);
    err = err ? err : elf_open(&e, fd);
    if (err)
        return err;
    bool more = (debug >= 0 && !elf_open(&symbols, debug)) || !mini_debug_open(&e, &bytes, &symbols);
    return find(&e, more ? &symbols : NULL, &spot, out);
}
