#include "elf/usdt.h"
#include "base/cursor.h"
#include "elf/elf.h"
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOTES   ".note.stapsdt"
#define BASE    ".stapsdt.base" /* where this section is tells how far a program was moved after its notes were made */
#define OWNER   "stapsdt"
#define TYPE    3    /* of notes: NT_STAPSDT */
#define LONGEST 4096 /* bytes of a note */

struct search {
    const struct elf_file *e;
    const char *pattern;
    u64 base; /* address of that section; 0: there is none */
    struct usdt head;
    struct near near;
    struct buf *out;
};

struct note {
    u64 pc, base, semaphore;
    const char *provider, *name, *arguments;
};

/* ---- One site ---------------------------------------------------------------------------------------------------- */

static bool read_note(struct cursor c, struct note *out)
{
    *out = (struct note){.pc = cursor_u64(&c), .base = cursor_u64(&c), .semaphore = cursor_u64(&c)};
    out->provider = cursor_str(&c);
    out->name = cursor_str(&c);
    out->arguments = cursor_left(&c) ? cursor_str(&c) : "";
    return !c.bad;
}

/* Copies printable characters: what is not is a question mark. */
static void copy_text(char *to, size_t size, const char *from)
{
    size_t n = 0;
    for (; from[n] && n + 1 < size; n++)
        to[n] = from[n] >= ' ' && from[n] <= '~' ? from[n] : '?';
    to[n] = 0;
}

static void read_arguments(struct usdt_site *s, const char *text)
{
    while (*(text += strspn(text, " ")) && s->narguments < XP_USDT_ARGUMENTS) {
        size_t n = strcspn(text, " ");
        usdt_argument(text, n, &s->at.arguments[s->narguments++]);
        text += n;
    }
}

/* Fills in the places. Returns false: it cannot be followed. */
static bool find_places(const struct search *s, const struct note *note, struct usdt_site *out)
{
    u64 moved = s->base && note->base ? s->base - note->base : 0;
    const struct elf_segment *code = elf_segment_at(s->e, note->pc + moved, PF_X);
    if (!code)
        return false;
    out->offset = note->pc + moved - code->vaddr + code->offset;
    if (!note->semaphore)
        return true;
    u64 semaphore = note->semaphore + moved;
    const struct elf_segment *data = elf_segment_at(s->e, semaphore, PF_W);
    if (!data || semaphore & 1)
        return false;
    out->semaphore = semaphore - data->vaddr + data->offset;
    return true;
}

static void judge(struct search *s, const struct note *note)
{
    struct usdt_site site = {0};
    char provider[USDT_NAME], name[USDT_NAME];
    copy_text(provider, sizeof(provider), note->provider);
    copy_text(name, sizeof(name), note->name);
    s->head.all++;
    if (snprintf(site.name, sizeof(site.name), "%s:%s", provider, name) >= (int)sizeof(site.name))
        s->head.unusable++;
    else if (fnmatch(s->pattern, site.name, 0))
        near_add(&s->near, site.name);
    else if (!find_places(s, note, &site))
        s->head.unusable++;
    else if (s->head.n == USDT_MAX)
        s->head.left_out++;
    else {
        copy_text(site.text, sizeof(site.text), note->arguments);
        read_arguments(&site, note->arguments);
        buf_add(s->out, &site, sizeof(site));
        s->head.n++;
    }
}

/* ---- All of them ------------------------------------------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
    const struct usdt_site *x = a, *y = b;
    int names = strcmp(x->name, y->name);
    return names ? names : (x->offset > y->offset) - (x->offset < y->offset);
}

/* Notes are a header, an owner and a content, each of 4 byte units (gabi, "Note Section"). */
static void read_notes(struct search *s, struct cursor c)
{
    while (!c.bad && cursor_left(&c) >= 12) {
        u32 owner = cursor_u32(&c), len = cursor_u32(&c), type = cursor_u32(&c);
        const u8 *name = cursor_take(&c, ((size_t)owner + 3) & ~(size_t)3);
        size_t padded = ((size_t)len + 3) & ~(size_t)3;
        struct cursor content = cursor_sub(&c, padded < cursor_left(&c) ? padded : cursor_left(&c));
        struct note note;
        if (len > content.len || len > LONGEST)
            continue;
        content.len = len;
        if (name && owner == sizeof(OWNER) && !memcmp(name, OWNER, sizeof(OWNER)) && type == TYPE &&
            read_note(content, &note))
            judge(s, &note);
    }
}

void usdt_find_elf(const struct elf_file *e, const char *pattern, struct buf *out)
{
    struct search s = {.e = e, .pattern = pattern, .near = {.wanted = pattern}, .out = out};
    struct elf_section notes, base;
    size_t at = out->len;
    s.head.magic = USDT_MAGIC;
    s.base = elf_section(e, BASE, &base) ? base.addr : 0;
    const char *name = strchr(pattern, ':');
    if (name && name[1] && !strpbrk(name, "*?["))
        s.near.wanted = name + 1; /* whatever provider */
    buf_add(out, &s.head, sizeof(s.head));
    if (elf_section(e, NOTES, &notes) && notes.type != SHT_NOBITS)
        read_notes(&s, cursor_of(notes.data, notes.len));
    if (out->failed)
        return;
    struct usdt *head = (void *)(out->data + at);
    if (!s.head.n)
        memcpy(s.head.near, s.near.text, sizeof(s.head.near));
    *head = s.head;
    qsort(head->sites, head->n, sizeof(*head->sites), compare);
}

int usdt_find(int fd, const char *pattern, struct buf *out)
{
    AUTO_ELF struct elf_file e = {0};
    int err = elf_open(&e, fd);
    if (!err)
        usdt_find_elf(&e, pattern, out);
    return err ? err : out->failed ? -ENOMEM : 0;
}

/* ---- Places ------------------------------------------------------------------------------------------------------ */

static int compare_places(const void *a, const void *b)
{
    const struct usdt_site *const *x = a, *const *y = b;
    return ((*x)->offset > (*y)->offset) - ((*x)->offset < (*y)->offset);
}

static bool has(const struct usdt_site *s, u32 arguments)
{
    for (u32 i = 0; i < XP_USDT_ARGUMENTS; i++)
        if (arguments >> i & 1 && !(s->at.arguments[i].flags & XP_USDT_KNOWN))
            return false;
    return true;
}

size_t usdt_places(const struct usdt *found, u32 arguments, const struct usdt_site **out)
{
    size_t n = 0, kept = 0;
    for (u32 i = 0; i < found->n; i++)
        if (has(&found->sites[i], arguments))
            out[n++] = &found->sites[i];
    qsort(out, n, sizeof(*out), compare_places);
    for (size_t i = 0; i < n; i++)
        if (!kept || out[kept - 1]->offset != out[i]->offset)
            out[kept++] = out[i];
    return kept;
}

/* ---- From another process ---------------------------------------------------------------------------------------- */

#define WORDS 21 /* of struct pt_regs */

static bool is_register(u8 word)
{
    return word < WORDS || word == XP_USDT_NONE;
}

static bool argument_sound(const struct xp_usdt_argument *a)
{
    return !(a->flags & XP_USDT_KNOWN) ||
           (a->size && a->size <= 8 && a->scale <= 3 && is_register(a->base) && is_register(a->index));
}

static bool site_sound(const struct usdt_site *s)
{
    if (!near_is_text(s->name, sizeof(s->name)) || !near_is_text(s->text, sizeof(s->text)) || !strchr(s->name, ':') ||
        s->narguments > XP_USDT_ARGUMENTS)
        return false;
    for (size_t i = 0; i < XP_USDT_ARGUMENTS; i++)
        if (!argument_sound(&s->at.arguments[i]))
            return false;
    return true;
}

bool usdt_sound(const void *data, size_t len)
{
    const struct usdt *u = data;
    if (len < sizeof(*u) || u->magic != USDT_MAGIC || u->n > USDT_MAX || len != sizeof(*u) + u->n * sizeof(*u->sites) ||
        !near_is_text(u->near, sizeof(u->near)))
        return false;
    for (u32 i = 0; i < u->n; i++)
        if (!site_sound(&u->sites[i]))
            return false;
    return true;
}
