/* Headers, notes and sections of files made by hand: all that is read of them, and what is refused. */
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fs.h"
#include "base/test.h"
#include "dwarf/crafted.h"
#include "elf/elf.h"
#include <errno.h>

#define PHDRS 4

/* A header, PHDRS program headers, and `tail`. */
struct file {
    Elf64_Ehdr h;
    Elf64_Phdr p[PHDRS];
    u8 tail[1024];
};

static struct file file_of(unsigned phnum)
{
    return (struct file){.h = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
                               .e_type = ET_EXEC,
                               .e_machine = EM_X86_64,
                               .e_entry = 0x1234,
                               .e_phoff = offsetof(struct file, p),
                               .e_phnum = (Elf64_Half)phnum,
                               .e_phentsize = sizeof(Elf64_Phdr),
                               .e_shentsize = sizeof(Elf64_Shdr)}};
}

static int open_file(const struct file *f, struct elf_file *e)
{
    elf_close(e);
    return elf_open_memory(e, f, sizeof(*f));
}

static void put_sections(struct file *f, const Elf64_Shdr *s, unsigned n)
{
    f->h.e_shoff = offsetof(struct file, tail);
    f->h.e_shnum = (Elf64_Half)n;
    memcpy(f->tail, s, n * sizeof(*s));
}

TEST(elf_program_headers_are_all_there)
{
    AUTO_ELF struct elf_file e = {0};
    struct file f = file_of(PHDRS);
    CHECK_EQ(open_file(&f, &e), 0);
    CHECK(e.phnum == PHDRS && e.type == ET_EXEC && e.entry == 0x1234 && !e.nloads && !e.build_id_len);
    f.h.e_phentsize--;
    CHECK_EQ(open_file(&f, &e), -EBADMSG);
    f = file_of(PHDRS);
    f.h.e_phoff = sizeof(f) - PHDRS * sizeof(Elf64_Phdr);
    CHECK_EQ(open_file(&f, &e), 0); /* up to the last byte */
    f.h.e_phoff++;
    CHECK_EQ(open_file(&f, &e), -EBADMSG);
    f.h.e_phoff = ~0ull;
    CHECK_EQ(open_file(&f, &e), -EBADMSG);
    f.h.e_phnum = 0;
    CHECK_EQ(open_file(&f, &e), 0);
    CHECK(!e.phnum && !e.loads);
    CHECK_EQ(elf_open_memory(&e, &f, sizeof(Elf64_Ehdr) - 1), -ENOEXEC);
}

/* The kernel maps no file with more than 64 KiB of program headers. */
TEST(elf_program_headers_are_bounded)
{
    AUTO_FREE struct file *big = calloc(1, sizeof(struct file) + 1200 * sizeof(Elf64_Phdr));
    AUTO_ELF struct elf_file e = {0};
    size_t len = sizeof(*big) + 1200 * sizeof(Elf64_Phdr);
    *big = file_of(1170);
    CHECK_EQ(elf_open_memory(&e, big, len), 0);
    elf_close(&e);
    big->h.e_phnum = 1171;
    CHECK_EQ(elf_open_memory(&e, big, len), -EBADMSG);
}

/* gABI, "Extended numbering": what does not fit in the header is in section 0. */
TEST(elf_numbers_may_be_in_section_0)
{
    AUTO_ELF struct elf_file e = {0};
    struct file f = file_of(PN_XNUM);
    Elf64_Shdr s[4] = {{.sh_size = 4, .sh_link = 2, .sh_info = PHDRS}};
    put_sections(&f, s, 4);
    f.h.e_shnum = 0;
    f.h.e_shstrndx = SHN_XINDEX;
    CHECK_EQ(open_file(&f, &e), 0);
    CHECK_EQ(e.phnum, PHDRS);
    CHECK_EQ(e.shnum, 4);
    CHECK_EQ(e.shstr, 2);
    s[0].sh_link = 4;
    put_sections(&f, s, 4);
    CHECK_EQ(open_file(&f, &e), 0);
    CHECK_EQ(e.shstr, 0); /* there is no such section */
}

/* Without section headers a file is as good; it has none if they are not all in it. */
TEST(elf_section_headers_are_all_there_or_none)
{
    AUTO_ELF struct elf_file e = {0};
    struct file f = file_of(0);
    const Elf64_Shdr s[3] = {{0}};
    put_sections(&f, s, 3);
    f.h.e_shstrndx = 2;
    CHECK_EQ(open_file(&f, &e), 0);
    CHECK(e.shnum == 3 && e.shstr == 2);
    f.h.e_shstrndx = 3;
    CHECK_EQ(open_file(&f, &e), 0);
    CHECK(e.shnum == 3 && e.shstr == 0);
    f.h.e_shoff = sizeof(f) - 3 * sizeof(*s);
    CHECK_EQ(open_file(&f, &e), 0);
    CHECK_EQ(e.shnum, 3);
    f.h.e_shoff++;
    CHECK_EQ(open_file(&f, &e), 0);
    CHECK_EQ(e.shnum, 0);
    f.h.e_shoff = sizeof(f) - sizeof(*s) + 1;
    CHECK_EQ(open_file(&f, &e), 0);
    CHECK_EQ(e.shnum, 0);
    f.h.e_shoff = offsetof(struct file, tail);
    f.h.e_shentsize--;
    CHECK_EQ(open_file(&f, &e), 0);
    CHECK_EQ(e.shnum, 0);
}

TEST(elf_segments_are_what_the_file_backs)
{
    AUTO_ELF struct elf_file e = {0};
    struct file f = file_of(PHDRS);
    size_t left = 0;
    f.p[0] = (Elf64_Phdr){.p_type = PT_LOAD, .p_flags = PF_R, .p_offset = 0, .p_vaddr = 0x1000, .p_filesz = 64};
    f.p[1] = (Elf64_Phdr){.p_type = PT_NOTE, .p_vaddr = 0x8000, .p_filesz = 4};
    f.p[2] =
        (Elf64_Phdr){.p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_offset = 64, .p_vaddr = 0x2000, .p_filesz = 1 << 20};
    f.p[3] = (Elf64_Phdr){.p_type = PT_LOAD, .p_offset = sizeof(f), .p_vaddr = 0x400000, .p_filesz = 1};
    CHECK_EQ(open_file(&f, &e), 0);
    CHECK_EQ(e.nloads, 2);
    CHECK_EQ(e.loads[1].filesz, sizeof(f) - 64); /* cut at the end of the file */
    CHECK(e.loads[0].filesz == 64 && e.loads[0].flags == PF_R && e.loads[1].offset == 64);
    CHECK(elf_segment_at(&e, 0x103f, 0) == &e.loads[0] && !elf_segment_at(&e, 0x1040, 0) &&
          !elf_segment_at(&e, 0xfff, 0));
    CHECK(!elf_segment_at(&e, 0x1000, PF_X) && !elf_segment_at(&e, 0x2000, PF_X | PF_W));
    CHECK(elf_segment_of(&e, 63, 0) == &e.loads[0] && elf_segment_of(&e, 64, 0) == &e.loads[1]);
    CHECK(!elf_segment_of(&e, 0, PF_X) && !elf_segment_of(&e, sizeof(f), 0));
    CHECK(elf_segment_of(&e, sizeof(f) - 1, PF_X) == &e.loads[1]);
    CHECK(elf_at(&e, 0x2001, &left) == e.map + 65);
    CHECK_EQ(left, sizeof(f) - 65);
    CHECK(!elf_at(&e, 0x8000, &left));
    f.p[0].p_vaddr = ~0ull - 8; /* its end is beyond the last address */
    CHECK_EQ(open_file(&f, &e), 0);
    CHECK_EQ(e.nloads, 1);
    Elf64_Phdr p = {0};
    CHECK(elf_find_phdr(&e, PT_NOTE, &p) && p.p_vaddr == 0x8000);
    CHECK(!elf_find_phdr(&e, PT_DYNAMIC, &p) && p.p_vaddr == 0x8000);
}

/* A note's head, its name and its content, padded as `align` says; the length. */
static size_t add_note(u8 *to, u32 type, const char *name, u32 namesz, u32 descsz, size_t align)
{
    const u32 head[3] = {namesz, descsz, type};
    size_t at = sizeof(head);
    memcpy(to, head, sizeof(head));
    memcpy(to + at, name, namesz);
    at = (at + namesz + align - 1) & ~(align - 1);
    for (u32 i = 0; i < descsz; i++)
        to[at + i] = (u8)(i + 1);
    return (at + descsz + align - 1) & ~(align - 1);
}

/* The length of the build ID of a file whose notes are these; they are a segment's, or else a section's. */
static int id_len(const u8 *notes, size_t len, size_t align, bool section)
{
    AUTO_ELF struct elf_file e = {0};
    struct file f = file_of(PHDRS);
    size_t at = offsetof(struct file, tail) + 3 * sizeof(Elf64_Shdr);
    if (section) {
        const Elf64_Shdr s[3] = {{0}, {.sh_type = SHT_NOTE, .sh_offset = at, .sh_size = len}, {0}};
        put_sections(&f, s, 3);
    } else {
        f.p[2] = (Elf64_Phdr){.p_type = PT_NOTE, .p_offset = at, .p_filesz = len, .p_align = align};
    }
    memcpy((u8 *)&f + at, notes, len);
    if (open_file(&f, &e))
        return -1;
    for (u8 i = 0; i < e.build_id_len; i++)
        if (e.build_id[i] != i + 1)
            return -1;
    return e.build_id_len;
}

TEST(elf_build_ids_in_notes)
{
    static const struct {
        u32 type;
        const char *name;
        u32 namesz, descsz;
        int expected;
    } cases[] = {
        {NT_GNU_BUILD_ID, "GNU", 4, 20, 20}, {NT_GNU_BUILD_ID, "GNU", 4, 8, 8},  {NT_GNU_BUILD_ID, "GNU", 4, 21, 20},
        {NT_GNU_BUILD_ID, "GNU", 4, 0, 0},   {NT_GNU_BUILD_ID, "GNV", 4, 20, 0}, {NT_GNU_BUILD_ID, "GNU\0", 5, 20, 0},
        {NT_GNU_ABI_TAG, "GNU", 4, 16, 0},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        for (int section = 0; section < 2; section++) {
            u8 notes[256] = {0};
            size_t len = add_note(notes, cases[i].type, cases[i].name, cases[i].namesz, cases[i].descsz, 4);
            CHECK_EQ(id_len(notes, len, 4, section), cases[i].expected);
            CHECK_EQ(id_len(notes, len - 4, 4, section), 0); /* cut */
        }
}

/* Others come before it, whose content is padded to 4 bytes, or to 8 in a segment that says so. */
TEST(elf_build_ids_behind_other_notes)
{
    for (size_t align = 4; align <= 8; align += 4) {
        u8 notes[256] = {0};
        size_t len = add_note(notes, NT_GNU_ABI_TAG, "GNU", 4, 13, align);
        len += add_note(notes + len, 7, "Another", 8, 3, align);
        len += add_note(notes + len, NT_GNU_BUILD_ID, "GNU", 4, 20, align);
        CHECK_EQ(id_len(notes, len, align, false), 20);
        if (align == 4)
            CHECK_EQ(id_len(notes, len, align, true), 20);
    }
    u8 two[256] = {0}; /* of several the first one is the file's, in segments before sections */
    size_t first = add_note(two, NT_GNU_BUILD_ID, "GNU", 4, 8, 4);
    size_t both = first + add_note(two + first, NT_GNU_BUILD_ID, "GNU", 4, 20, 4);
    CHECK(id_len(two, both, 4, false) == 8 && id_len(two, both, 4, true) == 8);
    struct file f = file_of(PHDRS);
    AUTO_ELF struct elf_file e = {0};
    memcpy(f.tail, two, both);
    for (unsigned i = 0; i < 2; i++)
        f.p[2 * i] = (Elf64_Phdr){.p_type = PT_NOTE,
                                  .p_offset = offsetof(struct file, tail) + (i ? first : 0),
                                  .p_filesz = i ? both - first : first,
                                  .p_align = 4};
    CHECK_EQ(open_file(&f, &e), 0);
    CHECK_EQ(e.build_id_len, 8);
    u8 last[64] = {0}; /* the padding of the last one may be missing */
    size_t len = add_note(last, NT_GNU_ABI_TAG, "GNU", 4, 13, 4);
    CHECK_EQ(id_len(last, len - 3, 4, false), 0);
}

TEST(elf_notes_are_bounded)
{
    AUTO_FREE u8 *bytes = calloc(1, 1 << 18);
    AUTO_ELF struct elf_file e = {0};
    struct file f = file_of(1);
    for (size_t first = 0; first < 2; first++) {
        size_t gap = (64u << 10) - 36 + first * 4, len = sizeof(f); /* the ID ends at the limit, or behind it */
        u8 id[64];
        f.p[0] = (Elf64_Phdr){.p_type = PT_NOTE, .p_offset = len, .p_filesz = 1 << 17, .p_align = 4};
        memcpy(bytes, &f, sizeof(f));
        const u32 head[3] = {0, (u32)gap - 12, 1};
        memcpy(bytes + len, head, sizeof(head));
        size_t n = add_note(id, NT_GNU_BUILD_ID, "GNU", 4, 20, 4);
        memcpy(bytes + len + gap, id, n);
        CHECK_EQ(elf_open_memory(&e, bytes, 1 << 18), 0);
        CHECK_EQ(e.build_id_len, first ? 0 : 20);
        elf_close(&e);
    }
}

TEST(elf_sections_by_name)
{
    AUTO_BUF struct buf file = {0};
    AUTO_ELF struct elf_file e = {0};
    const struct crafted_section s[] = {
        {".debug_line_str", "1", 1, 0}, {".debug_line", "22", 2, 0}, {".zdebug_str", "333", 3, 0}};
    struct elf_section got = {.len = 77};
    crafted_elf(&file, s, 3);
    CHECK_EQ(elf_open_memory(&e, file.data, file.len), 0);
    CHECK(elf_section(&e, ".debug_line", &got) && got.len == 2 && !memcmp(got.data, "22", 2));
    CHECK(elf_debug_section(&e, "line", &got) && got.len == 2 && !got.zdebug && !got.flags);
    CHECK(elf_debug_section(&e, "str", &got) && got.len == 3 && got.zdebug && got.flags == SHF_COMPRESSED);
    CHECK(!elf_debug_section(&e, "info", &got) && !elf_section(&e, ".debug", &got) && got.len == 3);
    CHECK(elf_section_at(&e, 1, &got) && got.len == 0 && got.memory == CRAFTED_TEXT_SIZE && got.addr == CRAFTED_TEXT);
    CHECK(elf_section_at(&e, 5, &got) && got.type == SHT_STRTAB);
    CHECK(!elf_section_at(&e, 6, &got));
    e.shstr = 0;
    CHECK(!elf_section(&e, ".debug_line", &got));
}

TEST(elf_sections_that_leave_the_file)
{
    AUTO_ELF struct elf_file e = {0};
    struct file f = file_of(0);
    struct elf_section got = {.len = 77};
    const Elf64_Shdr s[5] = {{0},
                             {.sh_type = SHT_PROGBITS, .sh_offset = sizeof(f) - 8, .sh_size = 8},
                             {.sh_type = SHT_PROGBITS, .sh_offset = sizeof(f) - 8, .sh_size = 9},
                             {.sh_type = SHT_PROGBITS, .sh_offset = 8, .sh_size = ~0ull},
                             {.sh_type = SHT_PROGBITS, .sh_offset = ~0ull, .sh_size = 0}};
    put_sections(&f, s, 5);
    CHECK_EQ(open_file(&f, &e), 0);
    CHECK(!elf_section_at(&e, 2, &got) && !elf_section_at(&e, 3, &got));
    CHECK_EQ(got.len, 77);
    CHECK(elf_section_at(&e, 4, &got) && !got.len);
    CHECK(elf_section_at(&e, 1, &got) && got.data == e.map + sizeof(f) - 8);
}

/* Is a file with this name mapped? */
static bool is_mapped(const char *name)
{
    AUTO_FREE char *maps = NULL;
    return !fs_read_file("/proc/self/maps", 1 << 24, &maps, NULL) && strstr(maps, name);
}

TEST(elf_files_are_mapped_while_they_are_open)
{
    static const char text[200] = "#!/bin/sh";
    AUTO_ELF struct elf_file e = {0};
    struct file f = file_of(PHDRS);
    AUTO_CLOSE int script = fs_sealed_memfd("refused-file", text, sizeof(text));
    AUTO_CLOSE int fd = fs_sealed_memfd("opened-file", &f, sizeof(f));
    CHECK_EQ(elf_open(&e, script), -ENOEXEC);
    CHECK(!e.owned && !e.map && !is_mapped("refused-file"));
    CHECK_EQ(elf_open(&e, fd), 0);
    CHECK(e.owned && is_mapped("opened-file"));
    elf_unmap(&e);
    CHECK(!e.owned && !e.map && !e.size && !e.phnum && !e.shnum && !is_mapped("opened-file"));
    CHECK(e.loads);
    elf_close(&e);
    CHECK_EQ(elf_open(&e, fd), 0);
    elf_close(&e);
    CHECK(!e.owned && !e.map && !e.loads && !is_mapped("opened-file"));
}

/* As lld lays them out: what becomes read-only is padded in memory to the end of its page. */
TEST(elf_variables_behind_the_end_of_the_file_are_of_the_last_segment)
{
    AUTO_ELF struct elf_file e = {0};
    struct file f = file_of(2);
    u64 at = 0;
    f.p[0] = (Elf64_Phdr){
        .p_type = PT_LOAD, .p_flags = PF_R | PF_W, .p_offset = 64, .p_vaddr = 0x1040, .p_filesz = 16, .p_memsz = 0xfc0};
    f.p[1] = (Elf64_Phdr){
        .p_type = PT_LOAD, .p_flags = PF_R | PF_W, .p_offset = 80, .p_vaddr = 0x2050, .p_filesz = 16, .p_memsz = 64};
    CHECK_EQ(open_file(&f, &e), 0);
    CHECK(elf_data_address(&e, 79, &at) && at == 0x104f);
    CHECK(elf_data_address(&e, 80, &at) && at == 0x2050);
    CHECK(elf_data_address(&e, 100, &at) && at == 0x2064);
    CHECK(elf_data_address(&e, 80 + 64, &at) && at == 0x1090);
    CHECK(!elf_data_address(&e, 63, &at) && !elf_data_address(&e, 0x2000, &at));
}
