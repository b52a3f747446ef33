/* The stubs of real programs, and of files made by hand. */
#include "elf/plt.h"
#include "base/cleanup.h"
#include "base/test.h"
#include "dwarf/crafted.h"
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <string.h>

static int open_elf(struct elf_file *e, const char *path)
{
    AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
    return fd < 0 ? -ENOENT : elf_open(e, fd);
}

TEST(plt_of_this_program)
{
    AUTO_ELF struct elf_file e = {0};
    CLEANUP(plt_free) struct plt *p = NULL;
    struct elf_section s;
    CHECK_EQ(open_elf(&e, "/proc/self/exe"), 0);
    int rc = plt_read(&p, &e);
    if (rc == -ENODATA)
        SKIP("this program has no PLT");
    CHECK_EQ(rc, 0);
    size_t stubs = 0, named = 0;
    bool memcpy_there = false;
    static const char *const sections[] = {".plt", ".plt.sec", ".plt.got"};
    for (size_t i = 0; i < 3; i++) {
        if (!elf_section(&e, sections[i], &s))
            continue;
        for (u64 at = s.addr; at < s.addr + s.len; at += 8) {
            size_t len;
            u64 start;
            const char *name = plt_find(p, at, &len, &start);
            stubs++;
            named += name != NULL;
            CHECK(!name || (start <= at && at - start < 16));
            memcpy_there |= name && len == 6 && !memcmp(name, "memcpy", 6);
        }
    }
    CHECK(stubs > 20 && named * 10 >= stubs * 4); /* the .plt of IBT jumps through no slot */
    CHECK(memcpy_there || named > 100);
}

TEST(plt_that_is_none)
{
    AUTO_ELF struct elf_file e = {0};
    CLEANUP(plt_free) struct plt *p = NULL;
    Elf64_Ehdr h = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
                    .e_type = ET_DYN,
                    .e_machine = EM_X86_64,
                    .e_version = EV_CURRENT};
    CHECK_EQ(elf_open_memory(&e, &h, sizeof(h)), 0);
    CHECK_EQ(plt_read(&p, &e), -ENODATA);
}

/* The header of a section of a crafted file. */
static void change_section(struct buf *file, unsigned i, u64 addr, u64 entsize, u64 flags)
{
    Elf64_Ehdr e;
    Elf64_Shdr s;
    memcpy(&e, file->data, sizeof(e));
    char *at = file->data + e.e_shoff + (i + 2) * sizeof(s); /* behind the null one and .text */
    memcpy(&s, at, sizeof(s));
    s.sh_addr = addr;
    s.sh_entsize = entsize;
    s.sh_flags = flags;
    memcpy(at, &s, sizeof(s));
}

static void put_stub(u8 *at, u64 pc, u64 got)
{
    s32 disp = (s32)(got - (pc + 6));
    at[0] = 0xff;
    at[1] = 0x25;
    memcpy(at + 2, &disp, sizeof(disp));
}

#define PLT     0x1000
#define PLT_GOT 0x2000
#define GOT     0x8000
#define NAMES   "\0first\0second\0third"

enum { PART_PLT, PART_PLT_GOT, PART_RELA_PLT, PART_RELA_DYN, PART_SYMBOLS, PART_STRINGS, PARTS };

/* .plt of three stubs of 16 bytes, the last one cut, and .plt.got of two of 8; but for section `without`. */
static int read_crafted(struct plt **out, struct elf_file *e, struct buf *file, int without)
{
    static u8 plt[16 + 16 + 6], plt_got[16];
    static const Elf64_Rela rela_plt[] = {{GOT + 16, ELF64_R_INFO(2, R_X86_64_JUMP_SLOT), 0},
                                          {GOT + 8, ELF64_R_INFO(1, R_X86_64_JUMP_SLOT), 0},
                                          {GOT + 24, ELF64_R_INFO(99, R_X86_64_JUMP_SLOT), 0}},
                            rela_dyn[] = {{GOT + 32, ELF64_R_INFO(3, R_X86_64_GLOB_DAT), 0},
                                          {GOT + 40, ELF64_R_INFO(3, R_X86_64_RELATIVE), 0}};
    static const Elf64_Sym symbols[] = {{0}, {.st_name = 1}, {.st_name = 7}, {.st_name = 14}, {.st_name = 999}};
    struct crafted_section s[PARTS] = {
        {".plt", plt, sizeof(plt), 0},
        {".plt.got", plt_got, sizeof(plt_got), 0},
        {".rela.plt", rela_plt, sizeof(rela_plt), 0},
        {".rela.dyn", rela_dyn, sizeof(rela_dyn), 0},
        {".dynsym", symbols, sizeof(symbols), 0},
        {".dynstr", NAMES, sizeof(NAMES), 0},
    };
    put_stub(plt + 4, PLT + 4, GOT + 8);
    put_stub(plt + 16 + 10, PLT + 16 + 10, GOT + 16); /* at the end of its stub */
    put_stub(plt + 32, PLT + 32, GOT + 24);           /* whose symbol does not exist */
    put_stub(plt_got, PLT_GOT, GOT + 32);
    put_stub(plt_got + 8, PLT_GOT + 8, GOT + 40); /* no function's */
    if (without >= 0)
        s[without].name = ".nothing";
    crafted_elf(file, s, PARTS);
    change_section(file, PART_PLT, PLT, 16, SHF_EXECINSTR);
    change_section(file, PART_PLT_GOT, PLT_GOT, 8, SHF_EXECINSTR);
    int err = elf_open_memory(e, file->data, file->len);
    return err ? err : plt_read(out, e);
}

/* "NAME START" of the stub at an address; "-": none. */
static const char *stub_at(const struct plt *p, u64 address)
{
    static char text[64];
    size_t len = 0;
    u64 start = 0;
    const char *name = plt_find(p, address, &len, &start);
    snprintf(text, sizeof(text), "%.*s %llx", (int)len, name ? name : "", (unsigned long long)start);
    return name ? text : "-";
}

TEST(plt_stubs_of_both_sizes)
{
    AUTO_ELF struct elf_file e = {0};
    AUTO_BUF struct buf file = {0};
    CLEANUP(plt_free) struct plt *p = NULL;
    CHECK_EQ(read_crafted(&p, &e, &file, -1), 0);
    CHECK_STR(stub_at(p, PLT), "first 1000");
    CHECK_STR(stub_at(p, PLT + 15), "first 1000");
    CHECK_STR(stub_at(p, PLT + 16), "second 1010");
    CHECK_STR(stub_at(p, PLT + 32), "-");
    CHECK_STR(stub_at(p, PLT - 1), "-");
    CHECK_STR(stub_at(p, PLT + 38), "-");
    CHECK_STR(stub_at(p, PLT_GOT + 7), "third 2000");
    CHECK_STR(stub_at(p, PLT_GOT + 8), "-");
    CHECK_STR(stub_at(p, PLT_GOT + 16), "-");
}

TEST(plt_that_lacks_a_part)
{
    static const struct {
        int without, expected;
        const char *first, *third;
    } cases[] = {
        {PART_PLT, 0, "-", "third 2000"},      {PART_PLT_GOT, 0, "first 1000", "-"},
        {PART_RELA_PLT, 0, "-", "third 2000"}, {PART_RELA_DYN, 0, "first 1000", "-"},
        {PART_SYMBOLS, -ENODATA, "-", "-"},    {PART_STRINGS, -ENODATA, "-", "-"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        AUTO_ELF struct elf_file e = {0};
        AUTO_BUF struct buf file = {0};
        CLEANUP(plt_free) struct plt *p = NULL;
        CHECK_EQ(read_crafted(&p, &e, &file, cases[i].without), cases[i].expected);
        CHECK(!p == !!cases[i].expected);
        CHECK(!p || !strcmp(stub_at(p, PLT), cases[i].first));
        CHECK(!p || !strcmp(stub_at(p, PLT_GOT), cases[i].third));
    }
}

/* Stubs without any function that they could lead to, and data that is called .plt. */
TEST(plt_that_leads_nowhere)
{
    static const u8 stubs[32] = {0};
    for (int rela = 0; rela < 2; rela++) {
        AUTO_ELF struct elf_file e = {0};
        AUTO_BUF struct buf file = {0};
        CLEANUP(plt_free) struct plt *p = NULL;
        static const Elf64_Rela r = {GOT, ELF64_R_INFO(1, R_X86_64_JUMP_SLOT), 0};
        struct crafted_section s[] = {{".plt", stubs, sizeof(stubs), 0},
                                      {".dynsym", stubs, sizeof(stubs), 0},
                                      {".dynstr", NAMES, sizeof(NAMES), 0},
                                      {".rela.plt", &r, rela ? sizeof(r) : 0, 0}};
        crafted_elf(&file, s, 4);
        change_section(&file, 0, PLT, 16, rela ? 0 : SHF_EXECINSTR);
        CHECK_EQ(elf_open_memory(&e, file.data, file.len), 0);
        CHECK_EQ(plt_read(&p, &e), -ENODATA);
    }
}
