/* Known code by its bytes: each shape, what differs from it by a little, and where it ends. */
#include "base/buf.h"
#include "base/test.h"
#include "cfi/gap.h"
#include "cfi/rows.h"

#define AT   0x10000 /* the address of the file's first byte */
#define CODE 0x400   /* where code is put */
#define SIZE 0x1000

enum { DYNAMIC = 0x200, HASH = 0x280, SYMBOLS = 0x2c0, STRINGS = 0x300, SECTIONS = 0xe00, NAMES = 0xf00 };

struct file {
    _Alignas(8) u8 b[SIZE];
    u64 init, fini;      /* addresses; 0: none */
    const char *section; /* at CODE; NULL: none */
    u64 section_len;
    const char *symbol; /* that it exports */
};

static void put_dynamic(struct file *f)
{
    const Elf64_Dyn d[] = {{DT_INIT, {f->init}},        {DT_FINI, {f->fini}},        {DT_GNU_HASH, {AT + HASH}},
                           {DT_SYMTAB, {AT + SYMBOLS}}, {DT_STRTAB, {AT + STRINGS}}, {DT_NULL, {0}}};
    u32 h = 5381, table[8] = {1, 1, 1, 0, 0, 0, 1};
    const Elf64_Sym s[2] = {{0}, {.st_name = 1, .st_shndx = 1, .st_value = AT + CODE}};
    for (const char *c = f->symbol; c && *c; c++)
        h = h * 33 + (u8)*c;
    table[7] = h | 1;
    memcpy(f->b + DYNAMIC, d, sizeof(d));
    memcpy(f->b + HASH, table, sizeof(table));
    memcpy(f->b + SYMBOLS, s, sizeof(s));
    snprintf((char *)f->b + STRINGS + 1, 64, "%s", f->symbol ? f->symbol : "");
}

static void put_sections(struct file *f)
{
    const Elf64_Shdr s[3] = {
        {0},
        {.sh_name = 1, .sh_type = SHT_PROGBITS, .sh_addr = AT + CODE, .sh_offset = CODE, .sh_size = f->section_len},
        {.sh_type = SHT_STRTAB, .sh_offset = NAMES, .sh_size = 32}};
    memcpy(f->b + SECTIONS, s, sizeof(s));
    snprintf((char *)f->b + NAMES + 1, 31, "%s", f->section ? f->section : "");
}

/* "START-END[ OFFSET:RULE]..., " of all that is found in it; offsets count from CODE. */
static void find(struct file *f, u64 entry, struct buf *text)
{
    const Elf64_Ehdr h = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
                          .e_type = ET_DYN,
                          .e_machine = EM_X86_64,
                          .e_entry = entry,
                          .e_phoff = sizeof(h),
                          .e_phnum = 2,
                          .e_phentsize = sizeof(Elf64_Phdr),
                          .e_shoff = SECTIONS,
                          .e_shnum = 3,
                          .e_shentsize = sizeof(Elf64_Shdr),
                          .e_shstrndx = 2};
    const Elf64_Phdr p[2] = {
        {.p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_offset = 0, .p_vaddr = AT, .p_filesz = 0xd00},
        {.p_type = PT_DYNAMIC, .p_vaddr = AT + DYNAMIC}};
    AUTO_ELF struct elf_file e = {0};
    struct gap_codes c = {.n = 99};
    memcpy(f->b, &h, sizeof(h));
    memcpy(f->b + sizeof(h), p, sizeof(p));
    put_dynamic(f);
    put_sections(f);
    if (!elf_open_memory(&e, f->b, SIZE))
        gap_codes_find(&e, &c);
    for (size_t i = 0; i < c.n && i < GAP_CODES; i++) {
        buf_printf(text, "%llx-%llx", (unsigned long long)c.v[i].start - CODE, (unsigned long long)c.v[i].end - CODE);
        for (size_t k = 0; k < c.v[i].n; k++) {
            struct xp_rule r;
            memcpy(&r, &c.v[i].row[k].word, sizeof(r));
            buf_printf(text, " %llx:%s%+d", (unsigned long long)c.v[i].row[k].offset - CODE,
                       r.kind == XP_CFA_RSP   ? "rsp"
                       : r.kind == XP_CFA_END ? "end"
                       : r.kind == XP_CFA_PLT ? "plt"
                                              : "?",
                       r.cfa_off);
        }
        buf_str(text, ", ");
    }
    buf_char(text, 0);
}

#define BYTES(s) s, sizeof(s) - 1

TEST(gap_start_by_its_first_instruction)
{
    static const struct {
        const char *code;
        size_t len;
        const char *says;
    } cases[] = {
        {BYTES("\x31\xed\x90"), "0-60 0:end+0, "},
        {BYTES("\xf3\x0f\x1e\xfa\x31\xed"), "0-60 0:end+0, "},
        {BYTES("\x48\x31\xed"), "0-60 0:end+0, "},
        {BYTES("\x48\x89\xe7"), "0-60 0:end+0, "},
        {BYTES("\x31\xec"), ""},
        {BYTES("\x48\x89\xe6"), ""},
        {BYTES("\xf3\x0f\x1e\xfb\x31\xed"), ""},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        AUTO_BUF struct buf text = {0};
        struct file f = {0};
        memcpy(f.b + CODE, cases[i].code, cases[i].len);
        find(&f, AT + CODE, &text);
        CHECK_STR(text.data, cases[i].says);
    }
}

/* The segment ends at 0xd00: what is there of it has to be enough, and it has to be code. */
TEST(gap_start_at_the_end_of_the_code)
{
    AUTO_BUF struct buf whole = {0}, cut = {0}, outside = {0};
    struct file f = {0};
    memcpy(f.b + 0xd00 - 3, "\x31\xed\x90\x31\xed\x90", 6);
    find(&f, AT + 0xd00 - 3, &whole);
    CHECK_STR(whole.data, "8fd-95d 8fd:end+0, ");
    find(&f, AT + 0xd00, &outside);
    CHECK_STR(outside.data, "");
    memcpy(f.b + 0xd00 - 3, "\x90\x31\xed\x90", 4);
    find(&f, AT + 0xd00 - 2, &cut);
    CHECK_STR(cut.data, "");
    cut.len = 0;
    memcpy(f.b + 0xd00 - 6, "\xf3\x0f\x1e\xfa\x31\xed", 6);
    find(&f, AT + 0xd00 - 6, &cut);
    CHECK_STR(cut.data, "");
}

#define SUB8     "\x48\x83\xec\x08"
#define ADD8_RET "\x48\x83\xc4\x08\xc3"

TEST(gap_init_and_fini_by_their_frames)
{
    static const struct {
        const char *code;
        size_t len;
        const char *says;
    } cases[] = {
        {BYTES(SUB8 "\x90\x90" ADD8_RET), "0-b 0:rsp+8 4:rsp+16 a:rsp+8, "},
        {BYTES("\xf3\x0f\x1e\xfa" SUB8 ADD8_RET), "0-d 0:rsp+8 8:rsp+16 c:rsp+8, "},
        {BYTES(SUB8 ADD8_RET ADD8_RET), "0-9 0:rsp+8 4:rsp+16 8:rsp+8, "}, /* the first way out */
        {BYTES("\x48\x83\xec\x10" ADD8_RET), ""},
        {BYTES(SUB8 "\x48\x83\xc4\x08\x90"), ""},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        for (int fini = 0; fini < 2; fini++) {
            AUTO_BUF struct buf text = {0};
            struct file f = {0};
            *(fini ? &f.fini : &f.init) = AT + CODE;
            memcpy(f.b + CODE, cases[i].code, cases[i].len);
            find(&f, 0, &text);
            CHECK_STR(text.data, cases[i].says);
        }
}

/* It ends within 64 bytes, and within the code. */
TEST(gap_init_is_short)
{
    for (size_t len = 64; len <= 65; len++) {
        AUTO_BUF struct buf text = {0};
        struct file f = {.init = AT + CODE};
        memcpy(f.b + CODE, SUB8, 4);
        memcpy(f.b + CODE + len - 5, ADD8_RET, 5);
        find(&f, 0, &text);
        CHECK_STR(text.data, len > 64 ? "" : "0-40 0:rsp+8 4:rsp+16 3f:rsp+8, ");
    }
    AUTO_BUF struct buf cut = {0}, outside = {0};
    struct file f = {.init = AT + 0xd00 - 3, .fini = AT + 0x100000};
    memcpy(f.b + 0xd00 - 3, SUB8 ADD8_RET, 9);
    find(&f, 0, &cut);
    CHECK_STR(cut.data, "");
    f.init = AT + 0xd00 - 8;
    memcpy(f.b + 0xd00 - 8, SUB8 ADD8_RET, 9);
    find(&f, 0, &outside);
    CHECK_STR(outside.data, "");
}

/* Those that overlap: the one that begins first stays. */
TEST(gap_pieces_are_sorted)
{
    AUTO_BUF struct buf apart = {0}, over = {0};
    struct file f = {.init = AT + CODE + 0x60, .fini = AT + CODE};
    memcpy(f.b + CODE, SUB8 ADD8_RET, 9);
    memcpy(f.b + CODE + 0x60, SUB8 ADD8_RET, 9);
    memcpy(f.b + CODE + 0x20, "\x31\xed\x90", 3);
    find(&f, AT + CODE + 0x20, &over);
    CHECK_STR(over.data, "0-9 0:rsp+8 4:rsp+16 8:rsp+8, 20-80 20:end+0, ");
    memcpy(f.b + CODE + 0x100, "\x31\xed\x90", 3);
    find(&f, AT + CODE + 0x100, &apart);
    CHECK_STR(apart.data, "0-9 0:rsp+8 4:rsp+16 8:rsp+8, 60-69 60:rsp+8 64:rsp+16 68:rsp+8, 100-160 100:end+0, ");
}

#define PLT0 "\xff\x35\1\2\3\4\xff\x25\1\2\3\4\x90\x90\x90\x90"

TEST(gap_plt_by_its_entries)
{
    static const struct {
        const char *name, *code;
        size_t len;
        const char *says;
    } cases[] = {
        {".plt", BYTES(PLT0 "\xff\x25\1\2\3\4\x68\0\0\0\0\xe9\0\0\0\0"), "0-20 0:rsp+16 6:rsp+24 10:plt+11, "},
        {".plt", BYTES(PLT0 "\xf3\x0f\x1e\xfa\x68\0\0\0\0\xe9\0\0\0\0\x90\x90"), "0-20 0:rsp+16 6:rsp+24 10:plt+9, "},
        {".plt", BYTES(PLT0 "\xff\x25\1\2\3\4\x69\0\0\0\0\xe9\0\0\0\0"), ""},
        {".plt", BYTES(PLT0 "\xff\x24\1\2\3\4\x68\0\0\0\0\xe9\0\0\0\0"), ""},
        {".plt", BYTES(PLT0 "\xf3\x0f\x1e\xfb\x68\0\0\0\0\xe9\0\0\0\0\x90\x90"), ""},
        {".plt", BYTES(PLT0 "\xf3\x0f\x1e\xfa\x69\0\0\0\0\xe9\0\0\0\0\x90\x90"), ""},
        {".plt", BYTES(PLT0), ""},
        {".plt", BYTES("\xff\x34\1\2\3\4\xff\x25\1\2\3\4\x90\x90\x90\x90\xff\x25\1\2\3\4\x68\0\0\0\0\xe9\0\0\0\0"), ""},
        {".plt", BYTES("\xfe\x35\1\2\3\4\xff\x25\1\2\3\4\x90\x90\x90\x90\xff\x25\1\2\3\4\x68\0\0\0\0\xe9\0\0\0\0"), ""},
        {".plt.sec", BYTES("\xf3\x0f\x1e\xfa\xff\x25\1\2\3\4\x90\x90\x90\x90\x90\x90"), "0-10 0:rsp+8, "},
        {".plt.got", BYTES("\xff\x25\1\2\3\4\x66\x90\xff\x25\1\2\3\4\x66\x90"), "0-10 0:rsp+8, "},
        {".plt.got", BYTES("\xff\x25\1\2\3\4\x66\x90\xff\x25\1\2\3\4\x66"), ""},
        {".other", BYTES("\xff\x25\1\2\3\4\x66\x90\xff\x25\1\2\3\4\x66\x90"), ""},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        AUTO_BUF struct buf text = {0};
        struct file f = {.section = cases[i].name, .section_len = cases[i].len};
        memcpy(f.b + CODE, cases[i].code, cases[i].len);
        find(&f, 0, &text);
        CHECK_STR(text.data, cases[i].says);
    }
    AUTO_BUF struct buf text = {0};
    struct file f = {.section = ".plt.got", .section_len = 0xd00 - CODE + 16}; /* longer than its segment */
    find(&f, 0, &text);
    CHECK_STR(text.data, "");
}

TEST(gap_chacha_by_its_loads)
{
    static const char code[] = "\x0f\x28\x2d\1\2\3\4\x0f\x10\x36\x0f\x10\x7e\x10";
    AUTO_BUF struct buf whole = {0}, far = {0}, other = {0}, unnamed = {0};
    struct file f = {.symbol = "__vdso_getrandom"};
    memcpy(f.b + CODE, code, sizeof(code) - 1);
    f.b[CODE + 7 + 1023] = 0xc3;
    find(&f, 0, &whole);
    CHECK_STR(whole.data, "0-407 0:rsp+8, ");
    f.symbol = "__vdso_getcpu";
    find(&f, 0, &unnamed);
    CHECK_STR(unnamed.data, "");
    f.symbol = "__vdso_getrandom";
    f.b[CODE]++;
    find(&f, 0, &other);
    CHECK_STR(other.data, "");
    f.b[CODE]--;
    f.b[CODE + 7 + 1023] = 0;
    f.b[CODE + 7 + 1024] = 0xc3;
    find(&f, 0, &far);
    CHECK_STR(far.data, "");
}

#define JUMP "\x48\x89\xf8\xc3\x55\xff\xe3"

TEST(gap_fiber_by_its_end)
{
    static const struct {
        const char *symbol, *code;
        size_t len;
        const char *says;
    } cases[] = {
        {"make_fcontext", BYTES(JUMP "\x48\x31\xff\xe8\1\2\3\4\xf4"), "4-10 4:end+0, "},
        {"make_fcontext", BYTES(JUMP "\xf3\x0f\x1e\xfa\x48\x31\xff\xe8\1\2\3\4\xf4"), "4-14 4:end+0, "},
        {"make_fcontext", BYTES(JUMP "\x48\x31\xff\xe8\1\2\3\4\x90"), ""},
        {"make_fcontext", BYTES(JUMP "\x48\x31\xfe\xe8\1\2\3\4\xf4"), ""},
        {"make_fcontext", BYTES("\x55\xff\xe4\x48\x31\xff\xe8\1\2\3\4\xf4"), ""},
        {"jump_fcontext", BYTES(JUMP "\x48\x31\xff\xe8\1\2\3\4\xf4"), ""},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        for (int far = 0; far < 2; far++) {
            AUTO_BUF struct buf text = {0};
            struct file f = {.symbol = cases[i].symbol};
            memcpy(f.b + CODE + far * 128, cases[i].code, cases[i].len);
            find(&f, 0, &text);
            CHECK_STR(text.data, far ? "" : cases[i].says);
        }
}
