/* Names of a file behind descriptors: opens and maps what is there. */
#include "base/cleanup.h"
#include "dwarf/names_elf.h"
#include "elf/mini_debug.h"
#include <sys/mman.h>
#include <sys/stat.h>

struct mapped { /* all zero: nothing */
    void *data;
    size_t len;
};

static void mapped_free(struct mapped *m)
{
    if (m->data)
        munmap(m->data, m->len);
}

static void map_index(int fd, struct mapped *m)
{
    struct stat st;
    if (fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_size <= 0)
        return;
    m->len = (size_t)st.st_size;
    m->data = mmap(NULL, m->len, PROT_READ, MAP_PRIVATE, fd, 0);
    if (m->data == MAP_FAILED)
        *m = (struct mapped){0};
}

/* What was stripped: in a debug file, or compressed in the file itself. */
static bool open_symbols(const struct elf_file *e, int fd, struct elf_bytes *bytes, struct elf_file *out)
{
    struct elf_section s;
    if (fd >= 0 && !elf_open(out, fd))
        return true;
    return !elf_section(e, ".symtab", &s) && !mini_debug_open(e, bytes, out);
}

static int resolve_file(const struct names_fds *f, const struct dwarf_index *lines, enum demangle_style style,
                        const u64 *offsets, size_t n, struct buf *out)
{
    AUTO_ELF struct elf_file e = {0};
    AUTO_BYTES struct elf_bytes bytes = {0};
    AUTO_ELF struct elf_file symbols = {0};
    int err = elf_open(&e, f->file);
    if (err)
        return err;
    bool more = n && open_symbols(&e, f->symbols, &bytes, &symbols);
    return names_resolve_elf(&e, lines, more ? &symbols : NULL, style, offsets, n, out);
}

static bool any_data(const u64 *offsets, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (offsets[i] & NAMES_DATA)
            return true;
    return false;
}

int names_resolve(const struct names_fds *f, const u64 *offsets, size_t n, struct buf *out)
{
    CLEANUP(mapped_free) struct mapped lines = {0}, names = {0};
    struct dwarf_index x;
    struct name_index index;
    enum demangle_style style = f->short_names ? DEMANGLE_SHORT : DEMANGLE_FULL;
    map_index(f->index, &lines);
    map_index(f->names, &names);
    /* An index that makes no sense is none. None has names of data. */
    const struct dwarf_index *known = lines.data && !dwarf_index_open(&x, lines.data, lines.len) ? &x : NULL;
    if (names.data && !any_data(offsets, n) && !name_index_open(&index, names.data, names.len))
        return names_resolve_index(&index, known, style, offsets, n, out);
    return resolve_file(f, known, style, offsets, n, out);
}

bool names_in_runtime(int names)
{
    CLEANUP(mapped_free) struct mapped m = {0};
    struct name_index index;
    map_index(names, &m);
    return !m.data || name_index_open(&index, m.data, m.len) || index.h->runtime;
}

int names_index_fds(const struct names_fds *f, bool runtime, void **out, size_t *len)
{
    AUTO_ELF struct elf_file e = {0};
    AUTO_BYTES struct elf_bytes bytes = {0};
    AUTO_ELF struct elf_file symbols = {0};
    int err = elf_open(&e, f->file);
    if (err)
        return err;
    bool more = open_symbols(&e, f->symbols, &bytes, &symbols);
    return name_index_build(&e, more ? &symbols : NULL, runtime, out, len);
}
