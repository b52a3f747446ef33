/* The list of GDB's JIT interface, and its entries in BEAM's own format (struct debug_info and what follows it in
 * erts/emulator/beam/jit/beam_jit_metadata.cpp): the head of a module, and for each range its head and its lines. Texts
 * are terminated, and end structures, whose size has room for their alignment. */
#include "runtime/beam_internal.h"
#include "runtime/sound.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_ENTRY 16 /* jit_descriptor */
#define MODULE      1  /* DEBUG_INFO_HEADER_MODULE */

struct entry { /* jit_code_entry */
    u64 next, prev, text, bytes;
};

struct head { /* debug_info, as of a module; its name begins where it ends for a reader: 6 bytes before the next part */
    u32 kind, pad;
    u64 base;
    u32 ranges, code;
    u16 name;
    u8 rest[6];
};
_Static_assert(sizeof(struct head) == 32, "as in the process");

struct range {
    u32 start, end, lines;
    u16 name;
    u8 rest[2];
};
_Static_assert(sizeof(struct range) == 16, "the same");
#define RANGE_NAME 14 /* where its name begins */

struct line {
    u32 start, number;
    u16 file;
    u8 rest[2];
};
_Static_assert(sizeof(struct line) == 12, "the same");
#define LINE_FILE 10

bool beam_walk_start(struct memory *m, u64 descriptor, struct beam_walk *out)
{
    bool ok = true;
    *out = (struct beam_walk){.next = memory_u(m, descriptor + FIRST_ENTRY, sizeof(u64), &ok)};
    return ok && out->next;
}

/* What the entry is about. Pages are not kept for it: an entry and its text are alone in theirs. */
static bool read_module(struct memory *m, u64 at, const struct entry *e, struct beam_module *out)
{
    struct head h;
    if (e->text >= MAX_ADDRESS || e->bytes < sizeof(h) || e->bytes > BEAM_MAX_BYTES ||
        !memory_read(m, e->text, &h, sizeof(h)) || h.kind != MODULE || h.base >= MAX_ADDRESS)
        return false;
    *out = (struct beam_module){at, h.base, h.base + h.code, e->text, e->bytes};
    return true;
}

bool beam_walk_next(struct memory *m, struct beam_walk *w, struct beam_module *out)
{
    struct entry e;
    while (w->next && w->next < MAX_ADDRESS && w->steps++ < BEAM_MAX_MODULES) {
        u64 at = w->next;
        if (!memory_read(m, at, &e, sizeof(e)))
            return false;
        w->next = e.next;
        if (read_module(m, at, &e, out))
            return true;
    }
    return false;
}

bool beam_module_is_there(struct memory *m, const struct beam_module *mod)
{
    struct entry e;
    struct beam_module now;
    return memory_read(m, mod->entry, &e, sizeof(e)) && read_module(m, mod->entry, &e, &now) &&
           !memcmp(&now, mod, sizeof(now));
}

int beam_table_read(struct memory *m, const struct beam_module *mod, struct beam_table *out)
{
    char *bytes = malloc(mod->bytes);
    if (!bytes)
        return -ENOMEM;
    if (!memory_read(m, mod->text, bytes, mod->bytes)) {
        free(bytes);
        return -EBADMSG;
    }
    *out = (struct beam_table){mod->base, bytes, mod->bytes};
    return 0;
}

void beam_table_free(struct beam_table *t)
{
    free(t->bytes);
    *t = (struct beam_table){0};
}

/* ---- Its parts -------------------------------------------------------------------------------------------------- */

struct reader {
    const struct beam_table *t;
    size_t at;
    u32 left; /* ranges */
    struct range range;
    struct beam_text name;
    size_t lines; /* where those of the range begin */
};

/* A part of so many bytes, and the text at `text` from its start on, whose length with its end is `len`; goes behind
 * both. */
static bool take(struct reader *r, void *to, size_t size, size_t at_len, size_t at_text, struct beam_text *text)
{
    const struct beam_table *t = r->t;
    u16 len;
    if (t->len - r->at < size)
        return false;
    memcpy(to, t->bytes + r->at, size);
    memcpy(&len, (const char *)to + at_len, sizeof(len));
    if (!len || t->len - r->at - size < len)
        return false;
    *text = (struct beam_text){t->bytes + r->at + at_text, len - 1u};
    r->at += size + len;
    return true;
}

static bool start(const struct beam_table *t, struct reader *r)
{
    struct head h;
    struct beam_text name;
    *r = (struct reader){.t = t};
    if (!take(r, &h, sizeof(h), offsetof(struct head, name), offsetof(struct head, rest), &name))
        return false;
    r->left = h.ranges;
    return h.kind == MODULE;
}

static bool next_line(struct reader *r, struct line *out, struct beam_text *file)
{
    return take(r, out, sizeof(*out), offsetof(struct line, file), LINE_FILE, file);
}

/* Goes to the next range, and behind its lines. */
static bool next_range(struct reader *r)
{
    struct line line;
    struct beam_text file;
    if (!r->left || !take(r, &r->range, sizeof(r->range), offsetof(struct range, name), RANGE_NAME, &r->name))
        return false;
    r->left--;
    r->lines = r->at;
    for (u32 i = 0; i < r->range.lines; i++)
        if (!next_line(r, &line, &file))
            return false;
    return true;
}

static struct beam_place place_of(const struct reader *r)
{
    return (struct beam_place){
        .function = r->name, .start = r->t->base + r->range.start, .end = r->t->base + r->range.end};
}

/* The last line that begins at the address, or before. */
static void find_line(struct reader *r, u64 offset, struct beam_place *out)
{
    struct line line;
    struct beam_text file;
    u32 best = 0;
    r->at = r->lines;
    for (u32 i = 0; i < r->range.lines && next_line(r, &line, &file); i++) {
        if (line.start > offset || line.start < best)
            continue;
        best = line.start;
        out->line = line.number;
        out->file = file;
    }
}

bool beam_table_find(const struct beam_table *t, u64 pc, struct beam_place *out)
{
    struct reader r;
    u64 offset = pc - t->base;
    bool ok = start(t, &r);
    while (ok && next_range(&r)) {
        if (offset < r.range.start || offset >= r.range.end)
            continue;
        *out = place_of(&r);
        find_line(&r, offset, out);
        return true;
    }
    return false;
}

bool beam_table_named(const struct beam_table *t, const char *name, struct beam_place *out)
{
    struct reader r;
    bool ok = start(t, &r);
    while (ok && next_range(&r)) {
        if (r.name.len != strlen(name) || memcmp(r.name.data, name, r.name.len) != 0)
            continue;
        *out = place_of(&r);
        return true;
    }
    return false;
}
