/* The list begins at a symbol with a fixed name, which the program or a library of it has. A library exports it; that
 * of a program may be in its symbol table only. There may be more than one, for each copy of a JIT compiler.
 */
#include "generated/descriptor.h"
#include "base/cleanup.h"
#include "elf/elf.h"
#include "proc/module.h"
#include <string.h>

#define NAME        "__jit_debug_descriptor"
#define MAX_FOUND   8
#define MAX_OBJECTS 16384
#define MAX_OBJECT  ((u64)32 << 20)

struct descriptor { /* struct jit_descriptor and struct jit_code_entry of the manual */
    u32 version, action;
    u64 relevant, first;
};
struct entry {
    u64 next, prev, object, size;
};

/* ---- The list --------------------------------------------------------------------------------------------------- */

static void read_object(struct memory *m, const struct entry *e, struct sections *s, struct buf *text)
{
    if (!e->size || e->size > MAX_OBJECT || e->size > m->left)
        return;
    AUTO_FREE u8 *bytes = malloc(e->size);
    if (bytes && memory_read(m, e->object, bytes, e->size))
        object_read(m, bytes, e->size, s, text);
}

/* Each entry names the one before it, so that a list that changes meanwhile, or was never one, ends here. */
static void read_list(struct memory *m, u64 at, struct sections *s, struct buf *text)
{
    struct descriptor d;
    struct entry e;
    u64 before = 0;
    if (!memory_read(m, at, &d, sizeof(d)) || d.version != 1)
        return;
    at = d.first;
    for (unsigned n = 0; at && n < MAX_OBJECTS; n++) {
        if (!memory_read(m, at, &e, sizeof(e)) || e.prev != before)
            return;
        read_object(m, &e, s, text);
        before = at;
        at = e.next;
    }
}

/* ---- Where it begins -------------------------------------------------------------------------------------------- */

static bool same_headers(const struct elf_file *e, const struct module *mod)
{
    size_t len = (size_t)e->phnum * sizeof(Elf64_Phdr);
    return e->phnum == mod->nphdrs && len <= sizeof(mod->phdrs) && !memcmp(e->map + e->phoff, mod->phdrs, len);
}

/* The address in the file, by its symbol table; 0: none. The name may be the end of another one. */
static u64 find_in_table(const struct elf_file *e)
{
    struct elf_section table, strings;
    Elf64_Sym one;
    if (!elf_section(e, ".symtab", &table) || !elf_section_at(e, table.link, &strings) ||
        (table.flags & SHF_COMPRESSED))
        return 0;
    elf_will_read(e, strings.data, strings.len);
    if (!memmem(strings.data, strings.len, NAME, sizeof(NAME)))
        return 0;
    for (size_t i = 0; i + sizeof(one) <= table.len; i += sizeof(one)) {
        memcpy(&one, table.data + i, sizeof(one));
        bool named = one.st_name < strings.len && strings.len - one.st_name >= sizeof(NAME) &&
                     !memcmp(strings.data + one.st_name, NAME, sizeof(NAME));
        if (named && one.st_shndx != SHN_UNDEF)
            return one.st_value;
    }
    return 0;
}

static u64 find_in_program(const struct elf_file *e, const struct module *mod)
{
    u64 at = e->map && same_headers(e, mod) ? find_in_table(e) : 0;
    return at ? mod->bias + at : 0;
}

void descriptor_read(struct memory *m, int program, struct sections *s, struct buf *text)
{
    AUTO_ELF struct elf_file e = {0};
    struct module mod;
    struct module_walk walk = {0};
    unsigned found = 0;
    if (program >= 0 && elf_open(&e, program))
        e = (struct elf_file){0};
    while (found < MAX_FOUND && module_next(m, &walk, &mod)) {
        u64 at = module_symbol(m, &mod, NAME);
        if (!at)
            at = find_in_program(&e, &mod);
        found += at != 0;
        if (at)
            read_list(m, at, s, text);
    }
}
