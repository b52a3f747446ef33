#include "elf/functions.h"
#include "elf/cheap_place.h"
#include <elf.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_NAME 4096
#define NEAR     5

struct search {
    const struct elf_file *e;
    const char *pattern;
    struct functions *out;
    unsigned nnear;
};

static bool add_offset(struct functions *out, u64 offset)
{
    u32 at = out->n;
    while (at && out->offset[at - 1] > offset)
        at--;
    if (at && out->offset[at - 1] == offset)
        return true;
    if (out->n == FUNCTIONS_MAX)
        return false;
    memmove(out->offset + at + 1, out->offset + at, (out->n - at) * sizeof(*out->offset));
    out->offset[at] = offset;
    out->n++;
    return true;
}

/* Alike are names that have it in them, of which it is a little longer, or that differ by capitals. */
static void add_near(struct search *s, const char *name)
{
    size_t len = strlen(s->out->near), n = strlen(name), wanted = strlen(s->pattern);
    bool alike =
        strstr(name, s->pattern) || (3 * n > 2 * wanted && strstr(s->pattern, name)) || !strcasecmp(name, s->pattern);
    if (!alike || s->nnear == NEAR || len + strlen(name) + 2 > FUNCTIONS_NEAR)
        return;
    for (const char *c = name; *c; c++)
        if (*c <= ' ' || *c > '~')
            return;
    if (len)
        s->out->near[len++] = ' ';
    memcpy(s->out->near + len, name, strlen(name) + 1);
    s->nnear++;
}

static void judge(struct search *s, const Elf64_Sym *sym, char *name)
{
    char *version = strchr(name, '@'); /* of the default one of a library: memcpy@@GLIBC_2.14 */
    if (version && version != name)
        *version = 0;
    s->out->all++;
    if (fnmatch(s->pattern, name, 0)) {
        add_near(s, name);
        return;
    }
    if (ELF64_ST_TYPE(sym->st_info) == STT_GNU_IFUNC) {
        s->out->indirect++;
        return;
    }
    const struct elf_segment *segment = elf_segment_at(s->e, sym->st_value, PF_X);
    if (!segment)
        return;
    u64 place = sym->st_value + elf_cheap_place(s->e, sym->st_value);
    u32 before = s->out->n;
    if (!add_offset(s->out, place - segment->vaddr + segment->offset))
        s->out->left_out++;
    else if (s->out->n > before)
        s->out->stepped += !elf_is_cheap(s->e, place);
}

static void search_in(struct search *s, const char *section)
{
    struct elf_section table, names;
    char text[MAX_NAME];
    if (!elf_section(s->e, section, &table) || table.type == SHT_NOBITS || !elf_section_at(s->e, table.link, &names) ||
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

void functions_find_elf(const struct elf_file *e, const char *pattern, struct functions *out)
{
    memset(out, 0, sizeof(*out));
    out->magic = FUNCTIONS_MAGIC;
    struct search s = {.e = e, .pattern = pattern, .out = out};
    search_in(&s, ".symtab");
    search_in(&s, ".dynsym");
    if (out->n)
        memset(out->near, 0, sizeof(out->near));
}

int functions_find(int fd, const char *pattern, struct functions *out)
{
    AUTO_ELF struct elf_file e = {0};
    int err = elf_open(&e, fd);
    if (!err)
        functions_find_elf(&e, pattern, out);
    return err;
}

bool functions_sound(const void *data, size_t len)
{
    const struct functions *f = data;
    if (len != sizeof(*f) || f->magic != FUNCTIONS_MAGIC || f->n > FUNCTIONS_MAX || f->stepped > f->n ||
        memchr(f->near, 0, FUNCTIONS_NEAR) == NULL)
        return false;
    for (u32 i = 1; i < f->n; i++)
        if (f->offset[i] <= f->offset[i - 1])
            return false;
    for (const char *c = f->near; *c; c++)
        if (*c < ' ' || *c > '~')
            return false;
    return true;
}
