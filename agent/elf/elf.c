#include "elf/elf.h"
#include "base/cleanup.h"
#include "base/fs.h"
#include "base/cursor.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define MAX_PHDRS         1170        /* the kernel maps no file with more (64 KiB of them) */
#define MAX_NOTE_SECTIONS 64          /* real files have four; hostile ones would make us read the file once for each */
#define MAX_NOTES         (64u << 10) /* bytes of notes read from one segment or section */
#define HUGE_PAGE         ((size_t)2 << 20)

static bool inside(u64 size, u64 off, u64 len)
{
    return off <= size && len <= size - off;
}

Elf64_Phdr elf_phdr(const struct elf_file *e, u32 i)
{
    Elf64_Phdr p;
    memcpy(&p, e->map + e->phoff + (u64)i * sizeof(p), sizeof(p)); /* may be unaligned */
    return p;
}

static Elf64_Shdr shdr(const struct elf_file *e, u32 i)
{
    Elf64_Shdr s;
    memcpy(&s, e->map + e->shoff + (u64)i * sizeof(s), sizeof(s));
    return s;
}

bool elf_section_at(const struct elf_file *e, u32 i, struct elf_section *out)
{
    if (i >= e->shnum)
        return false;
    Elf64_Shdr s = shdr(e, i);
    u64 len = s.sh_type == SHT_NOBITS ? 0 : s.sh_size;
    if (len && !inside(e->size, s.sh_offset, len))
        return false;
    *out = (struct elf_section){
        .data = e->map + (len ? s.sh_offset : 0),
        .len = len,
        .memory = s.sh_size,
        .addr = s.sh_addr,
        .flags = s.sh_flags,
        .entsize = s.sh_entsize,
        .type = s.sh_type,
        .link = s.sh_link,
    };
    return true;
}

bool elf_section(const struct elf_file *e, const char *name, struct elf_section *out)
{
    struct elf_section names;
    if (!e->shstr || !elf_section_at(e, e->shstr, &names))
        return false;
    size_t n = strlen(name) + 1;
    for (u32 i = 1; i < e->shnum; i++) {
        u32 at = shdr(e, i).sh_name;
        if (inside(names.len, at, n) && !memcmp(names.data + at, name, n))
            return elf_section_at(e, i, out);
    }
    return false;
}

bool elf_debug_section(const struct elf_file *e, const char *name, struct elf_section *out)
{
    char full[40];
    snprintf(full, sizeof(full), ".debug_%.24s", name);
    if (elf_section(e, full, out))
        return true;
    snprintf(full, sizeof(full), ".zdebug_%.24s", name);
    if (!elf_section(e, full, out))
        return false;
    out->zdebug = true;
    out->flags |= SHF_COMPRESSED;
    return true;
}

bool elf_find_phdr(const struct elf_file *e, u32 type, Elf64_Phdr *out)
{
    for (u32 i = 0; i < e->phnum; i++) {
        Elf64_Phdr p = elf_phdr(e, i);
        if (p.p_type == type) {
            *out = p;
            return true;
        }
    }
    return false;
}

/* ELF header: e_shnum and e_phnum of 0 and 0xffff say that the real count is in section 0 (gABI, "Extended numbering").
 */
static int read_header(struct elf_file *e)
{
    Elf64_Ehdr h;
    if (e->size < sizeof(h))
        return -ENOEXEC;
    memcpy(&h, e->map, sizeof(h));
    if (memcmp(h.e_ident, ELFMAG, SELFMAG) || h.e_ident[EI_CLASS] != ELFCLASS64 || h.e_ident[EI_DATA] != ELFDATA2LSB ||
        h.e_machine != EM_X86_64)
        return -ENOEXEC;
    e->type = h.e_type;
    e->entry = h.e_entry;
    e->phoff = h.e_phoff;
    e->phnum = h.e_phnum;
    e->shoff = h.e_shoff;
    if (h.e_shoff && h.e_shentsize == sizeof(Elf64_Shdr) && inside(e->size, h.e_shoff, sizeof(Elf64_Shdr))) {
        Elf64_Shdr first = shdr(e, 0);
        u64 n = h.e_shnum ? h.e_shnum : first.sh_size;
        u32 names = h.e_shstrndx == SHN_XINDEX ? first.sh_link : h.e_shstrndx;
        if (n < UINT32_MAX && inside(e->size, h.e_shoff, n * sizeof(Elf64_Shdr))) {
            e->shnum = (u32)n;
            e->shstr = names < n ? names : 0;
        }
        if (h.e_phnum == PN_XNUM)
            e->phnum = first.sh_info;
    }
    if (!e->phnum)
        return 0;
    if (e->phnum > MAX_PHDRS || h.e_phentsize != sizeof(Elf64_Phdr) ||
        !inside(e->size, h.e_phoff, (u64)e->phnum * sizeof(Elf64_Phdr)))
        return -EBADMSG;
    return 0;
}

static int read_loads(struct elf_file *e)
{
    if (!e->phnum)
        return 0;
    e->loads = calloc(e->phnum, sizeof(*e->loads));
    if (!e->loads)
        return -ENOMEM;
    for (u32 i = 0; i < e->phnum; i++) {
        Elf64_Phdr p = elf_phdr(e, i);
        if (p.p_type != PT_LOAD || p.p_offset >= e->size || p.p_vaddr + p.p_filesz < p.p_vaddr)
            continue;
        u64 left = e->size - p.p_offset;
        e->loads[e->nloads++] = (struct elf_segment){
            .offset = p.p_offset,
            .vaddr = p.p_vaddr,
            .filesz = p.p_filesz < left ? p.p_filesz : left,
            .flags = p.p_flags,
        };
    }
    return 0;
}

/* Notes are {namesz, descsz, type, name, desc}, name and desc padded to 4 (8 in segments so aligned). */
static bool build_id_in(struct elf_file *e, const u8 *data, size_t len, u64 align)
{
    struct cursor c = cursor_of(data, len < MAX_NOTES ? len : MAX_NOTES);
    u64 pad = align == 8 ? 7 : 3;
    while (cursor_left(&c) >= 12) {
        u64 namesz = cursor_u32(&c), descsz = cursor_u32(&c);
        u32 type = cursor_u32(&c);
        const u8 *name = cursor_take(&c, (namesz + 3) & ~3ull);
        cursor_take(&c, (size_t)(-c.pos & pad));
        const u8 *desc = cursor_take(&c, descsz);
        if (c.bad)
            return false;
        if (type == NT_GNU_BUILD_ID && namesz == 4 && !memcmp(name, "GNU", 4) && descsz) {
            e->build_id_len = descsz < sizeof(e->build_id) ? (u8)descsz : sizeof(e->build_id);
            memcpy(e->build_id, desc, e->build_id_len);
            return true;
        }
        size_t gap = (size_t)(-c.pos & pad);
        cursor_take(&c, gap < cursor_left(&c) ? gap : cursor_left(&c));
    }
    return false;
}

static void read_build_id(struct elf_file *e)
{
    for (u32 i = 0; i < e->phnum; i++) {
        Elf64_Phdr p = elf_phdr(e, i);
        if (p.p_type == PT_NOTE && inside(e->size, p.p_offset, p.p_filesz) &&
            build_id_in(e, e->map + p.p_offset, p.p_filesz, p.p_align))
            return;
    }
    for (u32 i = 0, notes = 0; i < e->shnum && notes < MAX_NOTE_SECTIONS; i++) {
        struct elf_section s;
        if (!elf_section_at(e, i, &s) || s.type != SHT_NOTE)
            continue;
        if (build_id_in(e, s.data, s.len, 4))
            return;
        notes++;
    }
}

int elf_open_memory(struct elf_file *e, const void *data, size_t len)
{
    struct elf_file f = {.map = data, .size = len};
    int err = read_header(&f);
    if (!err)
        err = read_loads(&f);
    if (err)
        return err;
    read_build_id(&f);
    *e = f;
    return 0;
}

int elf_open(struct elf_file *e, int fd)
{
    struct stat st;
    if (fstat(fd, &st))
        return -errno;
    if (!S_ISREG(st.st_mode) || st.st_size < (off_t)sizeof(Elf64_Ehdr))
        return -ENOEXEC;
    void *map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (map == MAP_FAILED)
        return -errno;
    int err = elf_open_memory(e, map, (size_t)st.st_size);
    if (err)
        munmap(map, (size_t)st.st_size);
    else
        e->owned = true;
    return err;
}

void elf_unmap(struct elf_file *e)
{
    if (e->owned)
        munmap((void *)e->map, e->size);
    e->map = NULL;
    e->owned = false;
    e->size = e->phnum = e->shnum = e->shstr = 0;
}

void elf_close(struct elf_file *e)
{
    elf_unmap(e);
    free(e->loads);
    *e = (struct elf_file){0};
}

const struct elf_segment *elf_segment_at(const struct elf_file *e, u64 vaddr, u32 flags)
{
    for (size_t i = 0; i < e->nloads; i++) {
        const struct elf_segment *s = &e->loads[i];
        if (vaddr - s->vaddr < s->filesz && vaddr >= s->vaddr && (s->flags & flags) == flags)
            return s;
    }
    return NULL;
}

const struct elf_segment *elf_segment_of(const struct elf_file *e, u64 offset, u32 flags)
{
    for (size_t i = 0; i < e->nloads; i++) {
        const struct elf_segment *s = &e->loads[i];
        if (offset - s->offset < s->filesz && offset >= s->offset && (s->flags & flags) == flags)
            return s;
    }
    return NULL;
}

/* What the file has of a segment may lie where another one goes on in memory. Where two go on (lld pads what becomes
 * read-only to the end of its page), it is the one that begins last. */
bool elf_data_address(const struct elf_file *e, u64 offset, u64 *vaddr)
{
    u64 begins = 0;
    bool found = false;
    for (int beyond = 0; beyond < 2 && !found; beyond++)
        for (u32 i = 0; i < e->phnum; i++) {
            Elf64_Phdr p = elf_phdr(e, i);
            if (p.p_type != PT_LOAD || !(p.p_flags & PF_W) || offset < p.p_offset || p.p_offset < begins ||
                offset - p.p_offset >= (beyond ? p.p_memsz : p.p_filesz))
                continue;
            *vaddr = p.p_vaddr + (offset - p.p_offset);
            begins = p.p_offset;
            found = true;
        }
    return found;
}

const u8 *elf_at(const struct elf_file *e, u64 vaddr, size_t *left)
{
    const struct elf_segment *s = elf_segment_at(e, vaddr, 0);
    if (!s)
        return NULL;
    *left = s->filesz - (vaddr - s->vaddr);
    return e->map + s->offset + (vaddr - s->vaddr);
}

/* One fault costs as much as fifty of single pages, which are most of what a copy costs. */
static u8 *alloc_large(size_t n)
{
    size_t room = (n + HUGE_PAGE - 1) & ~(HUGE_PAGE - 1);
    u8 *p = aligned_alloc(HUGE_PAGE, room);
    if (p)
        madvise(p, room, MADV_HUGEPAGE); /* a wish */
    return p;
}

int elf_read(int fd, u64 offset, size_t n, u8 **out)
{
    AUTO_FREE u8 *copy = n < HUGE_PAGE / 4 ? malloc(n + 1) : alloc_large(n);
    if (!copy)
        return -ENOMEM;
    int rc = fs_read_at(fd, copy, n, offset);
    if (rc)
        return rc == -ENODATA ? -ESTALE : rc;
    *out = TAKE_PTR(copy);
    return 0;
}

static bool is_mapped(const struct elf_file *e, const u8 *data, size_t len)
{
    return e->owned && len && data >= e->map && data + len <= e->map + e->size;
}

void elf_will_read(const struct elf_file *e, const u8 *data, size_t len)
{
    if (!is_mapped(e, data, len))
        return;
    size_t from = (size_t)(data - e->map) & ~(size_t)4095;
#ifdef MADV_POPULATE_READ /* Linux 5.14; without it each 64 KiB cost a page fault */
    madvise((void *)(e->map + from), (size_t)(data - e->map) + len - from, MADV_POPULATE_READ);
#endif
}

void elf_have_read(const struct elf_file *e, const u8 *data, size_t len)
{
    if (!is_mapped(e, data, len))
        return;
    size_t from = ((size_t)(data - e->map) + 4095) & ~(size_t)4095; /* whole pages only: neighbours may be needed */
    size_t to = ((size_t)(data - e->map) + len) & ~(size_t)4095;
    if (from < to)
        madvise((void *)(e->map + from), to - from, MADV_DONTNEED);
}
