#include "elf/functions.h"
#include "elf/cheap_place.h"
#include "elf/function_names.h"
#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAX_NAME 4096

struct search {
    const struct elf_file *e;
    const char *pattern;
    functions_readable *readable; /* or NULL */
    struct functions head;
    struct near near;
    struct buf found, names; /* struct function, and what they are called */
    bool exact;              /* the pattern is the name of some */
};

static void add(struct search *s, struct function f, const char *name)
{
    f.name = (u32)s->names.len;
    if (s->head.n == FUNCTIONS_MAX || s->names.len + strlen(name) + 1 > FUNCTIONS_BYTES) {
        s->head.left_out++;
        return;
    }
    buf_add(&s->found, &f, sizeof(f));
    for (; *name; name++)
        buf_char(&s->names, (char)(*name >= ' ' && *name <= '~' ? *name : '?'));
    buf_char(&s->names, 0);
    s->head.n++;
}

static bool fits(const struct search *s, const char *name, u16 *flags)
{
    *flags = strcmp(s->pattern, name) ? 0 : FUNCTION_EXACT;
    return *flags || function_name_fits(s->pattern, name);
}

/* Whether it is meant by its readable name, which is near the pattern if not. Who gives parameters means them. */
static bool fits_readable(struct search *s, const char *name, u16 *flags)
{
    bool fit = false, readable = false;
    for (int parameters = 0; s->readable && !fit && parameters <= (strchr(s->pattern, '(') != NULL); parameters++) {
        AUTO_BUF struct buf text = {0};
        if (!s->readable(name, parameters, &text))
            break;
        buf_char(&text, 0);
        if (text.failed)
            break;
        fit = fits(s, text.data, flags);
        if (!fit)
            near_add(&s->near, text.data);
        readable = true;
    }
    if (!readable)
        near_add(&s->near, name);
    return fit;
}

static u16 flags_of(const struct search *s, const Elf64_Sym *sym, const char *name)
{
    return sym->st_value == s->e->entry || function_keeps_return(name) ? FUNCTION_KEEPS_RETURN : 0;
}

static void judge(struct search *s, const Elf64_Sym *sym, char *name)
{
    u16 exact = 0;
    char *version = strchr(name, '@'); /* of the default one of a library: memcpy@@GLIBC_2.14 */
    if (version && version != name)
        *version = 0;
    s->head.all++;
    if (!fits(s, name, &exact) && !fits_readable(s, name, &exact))
        return;
    s->exact |= exact != 0;
    if (ELF64_ST_TYPE(sym->st_info) == STT_GNU_IFUNC) {
        add(s, (struct function){.flags = FUNCTION_INDIRECT | exact}, name);
        return;
    }
    const struct elf_segment *segment = elf_segment_at(s->e, sym->st_value, PF_X);
    if (!segment)
        return;
    u64 ahead = elf_cheap_place(s->e, sym->st_value);
    u16 cheap = elf_is_cheap(s->e, sym->st_value + ahead) ? FUNCTION_CHEAP : 0;
    add(s,
        (struct function){
            .offset = sym->st_value - segment->vaddr + segment->offset,
            .size = (u32)(sym->st_size < UINT32_MAX ? sym->st_size : UINT32_MAX),
            .flags = cheap | exact | flags_of(s, sym, name),
            .ahead = (u16)ahead,
        },
        name);
}

static void search_in(struct search *s, const struct elf_file *from, const char *section)
{
    struct elf_section table, names;
    char text[MAX_NAME];
    if (!elf_section(from, section, &table) || table.type == SHT_NOBITS || !elf_section_at(from, table.link, &names) ||
        names.type == SHT_NOBITS)
        return;
    for (size_t i = 0; i < table.len / sizeof(Elf64_Sym); i++) {
        Elf64_Sym sym;
        memcpy(&sym, table.data + i * sizeof(sym), sizeof(sym));
        unsigned type = ELF64_ST_TYPE(sym.st_info);
        if (sym.st_name >= names.len || sym.st_shndx == SHN_UNDEF || !sym.st_value ||
            (type != STT_FUNC && type != STT_GNU_IFUNC))
            continue;
        size_t left = names.len - sym.st_name, most = left < MAX_NAME - 1 ? left : MAX_NAME - 1;
        size_t len = strnlen((const char *)names.data + sym.st_name, most);
        memcpy(text, names.data + sym.st_name, len);
        text[len] = 0;
        if (len)
            judge(s, &sym, text);
    }
}

static int compare(const void *a, const void *b, void *names)
{
    const struct function *x = a, *y = b;
    const char *all = names;
    int order = strcmp(all + x->name, all + y->name);
    return order ? order : (x->offset > y->offset) - (x->offset < y->offset);
}

/* Most are in both tables, with one size. If the pattern is the name of some, it means no others: names have stars in
 * them. */
static void sort(struct search *s)
{
    struct function *f = (void *)s->found.data;
    u32 n = 0;
    if (!s->head.n)
        return;
    qsort_r(f, s->head.n, sizeof(*f), compare, s->names.data);
    for (u32 i = 0; i < s->head.n; i++)
        if (s->exact <= !!(f[i].flags & FUNCTION_EXACT) && (!n || compare(&f[n - 1], &f[i], s->names.data)))
            f[n++] = f[i];
    s->head.n = n;
    s->head.left_out = s->exact ? 0 : s->head.left_out;
}

void functions_find_elf(const struct elf_file *e, const struct elf_file *more, const char *pattern,
                        functions_readable *readable, struct buf *out)
{
    struct search s = {.e = e,
                       .pattern = pattern,
                       .readable = readable,
                       .head = {.magic = FUNCTIONS_MAGIC},
                       .near = {.wanted = pattern}};
    search_in(&s, e, ".symtab");
    search_in(&s, e, ".dynsym");
    if (more)
        search_in(&s, more, ".symtab");
    if (s.found.failed || s.names.failed) {
        out->failed = true;
    } else {
        sort(&s);
        s.head.bytes = (u32)s.names.len;
        if (!s.head.n)
            memcpy(s.head.near, s.near.text, sizeof(s.head.near));
        buf_add(out, &s.head, sizeof(s.head));
        buf_add(out, s.found.data, s.head.n * sizeof(struct function));
        buf_add(out, s.names.data, s.names.len);
    }
    buf_free(&s.found);
    buf_free(&s.names);
}

int functions_find(int fd, const char *pattern, functions_readable *readable, struct buf *out)
{
    AUTO_ELF struct elf_file e = {0};
    int err = elf_open(&e, fd);
    if (!err)
        functions_find_elf(&e, NULL, pattern, readable, out);
    return err ? err : out->failed ? -ENOMEM : 0;
}

/* The number in the rest of a text. Returns whether it is one; errno is ERANGE if it is too large. */
static bool is_number(const char *text, int base, u64 *out)
{
    char *end;
    errno = 0;
    *out = strtoull(text, &end, base);
    return text[0] >= '0' && text[0] <= '9' && !*end;
}

int functions_split(const char *text, struct functions_spot *out)
{
    struct functions_spot spot = {0};
    const char *plus = strrchr(text, '+');
    spot.bare = !strncmp(text, "0x", 2) && is_number(text, 16, &spot.offset);
    spot.within = !spot.bare && plus && is_number(plus + 1, 0, &spot.offset);
    size_t n = spot.bare ? 0 : spot.within ? (size_t)(plus - text) : strlen(text);
    if (((spot.bare || spot.within) && errno) || n >= sizeof(spot.name) || (!n && !spot.bare))
        return -EINVAL;
    memcpy(spot.name, text, n);
    *out = spot;
    return 0;
}

static int by_offset(const void *a, const void *b)
{
    u64 x = *(const u64 *)a, y = *(const u64 *)b;
    return (x > y) - (x < y);
}

size_t functions_kept_off(const struct functions *f)
{
    size_t n = 0;
    for (u32 i = 0; i < f->n; i++)
        n += (f->v[i].flags & FUNCTION_KEEPS_RETURN) != 0;
    return n;
}

size_t functions_places(const struct functions *f, const u64 *more, bool returns, u64 *out)
{
    unsigned out_of = FUNCTION_INDIRECT | FUNCTION_BETWEEN | (returns ? FUNCTION_KEEPS_RETURN : 0);
    size_t n = 0, kept = 0;
    for (u32 i = 0; i < f->n; i++)
        if (!(f->v[i].flags & out_of))
            out[n++] = f->v[i].offset + (more ? *more : f->v[i].ahead);
    qsort(out, n, sizeof(*out), by_offset);
    for (size_t i = 0; i < n; i++)
        if (!kept || out[kept - 1] != out[i])
            out[kept++] = out[i];
    return kept;
}

bool functions_sound(const void *data, size_t len)
{
    const struct functions *f = data;
    if (len < sizeof(*f) || f->magic != FUNCTIONS_MAGIC || f->n > FUNCTIONS_MAX || f->bytes > FUNCTIONS_BYTES ||
        len != sizeof(*f) + f->n * sizeof(*f->v) + f->bytes || !near_is_text(f->near, sizeof(f->near)))
        return false;
    const char *names = (const char *)&f->v[f->n];
    for (u32 at = 0; at < f->bytes; at += (u32)strlen(names + at) + 1)
        if (!near_is_text(names + at, f->bytes - at))
            return false;
    for (u32 i = 0; i < f->n; i++)
        if (f->v[i].name >= f->bytes || f->v[i].readable >= f->bytes)
            return false;
    return true;
}
