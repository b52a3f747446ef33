/* Which of several symbols names a place: tables by hand, each in its order and backwards, since the answer must not
 * depend on it. */
#include "base/buf.h"
#include "base/test.h"
#include "elf/symbols.h"

#define CODE     0x1000 /* in memory; in the file it begins at 0 */
#define LENGTH   0x1000
#define MOST     4
#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

struct named {
    const char *name;
    u64 start, size;
    u8 type, bind;
    u16 section; /* 0: as usual */
};

static void make_file(const struct named *s, bool backwards, struct buf *out)
{
    Elf64_Sym syms[MOST + 1] = {0};
    char names[600] = "";
    size_t n = 0, len = 1;
    while (n < MOST && s[n].name)
        n++;
    for (size_t i = 0; i < n; i++) {
        const struct named *from = &s[backwards ? n - 1 - i : i];
        syms[i + 1] = (Elf64_Sym){.st_name = (Elf64_Word)len,
                                  .st_value = CODE + from->start,
                                  .st_size = from->size,
                                  .st_info = (u8)ELF64_ST_INFO(from->bind, from->type),
                                  .st_shndx = from->section ? from->section : 1};
        memcpy(names + len, from->name, strlen(from->name) + 1);
        len += strlen(from->name) + 1;
    }
    size_t at = sizeof(Elf64_Ehdr) + sizeof(Elf64_Phdr), table = (n + 1) * sizeof(Elf64_Sym);
    const Elf64_Ehdr e = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
                          .e_type = ET_DYN,
                          .e_machine = EM_X86_64,
                          .e_phoff = sizeof(e),
                          .e_phnum = 1,
                          .e_phentsize = sizeof(Elf64_Phdr),
                          .e_shoff = LENGTH,
                          .e_shnum = 4,
                          .e_shentsize = sizeof(Elf64_Shdr)};
    const Elf64_Phdr p = {
        .p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_vaddr = CODE, .p_filesz = LENGTH, .p_memsz = LENGTH};
    const Elf64_Shdr h[4] = {
        [1] = {.sh_type = SHT_PROGBITS, .sh_flags = SHF_EXECINSTR, .sh_addr = CODE, .sh_size = 0x800},
        [2] = {.sh_type = SHT_SYMTAB, .sh_offset = at, .sh_size = table, .sh_link = 3},
        [3] = {.sh_type = SHT_STRTAB, .sh_offset = at + table, .sh_size = len},
    };
    buf_add(out, &e, sizeof(e));
    buf_add(out, &p, sizeof(p));
    buf_add(out, syms, table);
    buf_add(out, names, len);
    while (out->len < LENGTH)
        buf_char(out, 0);
    buf_add(out, h, sizeof(h));
}

/* "START NAME" of the symbol at each place, "-" for none. */
static void choose(const struct named *s, bool backwards, const u64 *at, size_t n, struct buf *text)
{
    AUTO_BUF struct buf file = {0};
    AUTO_ELF struct elf_file e = {0};
    struct symbol out[MOST];
    make_file(s, backwards, &file);
    if (elf_open_memory(&e, file.data, file.len) || symbols_find(&e, NULL, at, n, out))
        buf_str(text, "error ");
    else
        for (size_t i = 0; i < n; i++)
            if (out[i].name)
                buf_printf(text, "%llx %.*s ", (unsigned long long)out[i].start, (int)out[i].len, out[i].name);
            else
                buf_str(text, "- ");
    buf_char(text, 0);
}

#define FUNC  STT_FUNC, STB_GLOBAL, 0
#define LOCAL STT_FUNC, STB_LOCAL, 0
#define LABEL STT_NOTYPE, STB_LOCAL, 0

static const struct {
    struct named symbols[MOST + 1];
    u64 at[MOST];
    const char *says;
} cases[] = {
    /* Of several at one start */
    {{{"f", 0x100, 16, FUNC}, {"g", 0x100, 0, FUNC}}, {0x108}, "100 f "},             /* a size */
    {{{"f", 0x100, 16, LABEL}, {"longer", 0x100, 16, FUNC}}, {0x108}, "100 longer "}, /* a type */
    {{{"f", 0x100, 16, LOCAL}, {"longer", 0x100, 16, FUNC}}, {0x108}, "100 longer "}, /* others see it */
    {{{"f", 0x100, 16, STT_FUNC, STB_WEAK, 0}, {"longer", 0x100, 16, LOCAL}}, {0x108}, "100 f "},
    {{{"__f", 0x100, 16, FUNC}, {"longer", 0x100, 16, FUNC}}, {0x108}, "100 longer "}, /* fewer underscores */
    {{{"_ff", 0x100, 16, FUNC}, {"__f", 0x100, 16, FUNC}}, {0x108}, "100 _ff "},
    {{{"ff", 0x100, 16, FUNC}, {"f", 0x100, 16, FUNC}}, {0x108}, "100 f "}, /* the shorter one */
    {{{"fb", 0x100, 16, FUNC}, {"fa", 0x100, 16, FUNC}}, {0x108}, "100 fa "},
    {{{"long@@V1", 0x100, 16, FUNC}, {"longer", 0x100, 16, FUNC}}, {0x108}, "100 long "}, /* without its version */
    {{{"long@V1", 0x100, 16, FUNC}}, {0x108}, "100 long "},
    {{{"f", 0x100, 8, FUNC}, {"longer", 0x100, 32, FUNC}}, {0x110}, "100 longer "}, /* the other does not reach it */
    /* One inside of another, and behind it */
    {{{"outer", 0x100, 64, FUNC}, {"inner", 0x110, 16, FUNC}},
     {0x10f, 0x110, 0x11f, 0x120},
     "100 outer 110 inner 110 inner 100 outer "},
    {{{"outer", 0x100, 64, FUNC}, {"inner", 0x110, 16, FUNC}, {"last", 0x118, 4, FUNC}},
     {0x11c, 0x140},
     "110 inner - "},
    {{{"a", 0x100, 16, FUNC}, {"b", 0x110, 16, FUNC}}, {0xff, 0x10f, 0x110, 0x120}, "- 100 a 110 b - "},
    /* Without size: up to the next one, or to the end of the section (at 0x800) */
    {{{"a", 0x100, 0, FUNC}, {"b", 0x110, 0, FUNC}}, {0x10f, 0x110, 0x7ff, 0x800}, "100 a 110 b 110 b - "},
    {{{"a", 0x100, 0, FUNC}, {"b", 0x110, 16, FUNC}}, {0x10f, 0x11f, 0x120}, "100 a 110 b - "},
    /* What is no code */
    {{{".Llocal", 0x100, 16, LABEL}}, {0x108}, "- "},
    {{{"$x", 0x100, 16, LABEL}}, {0x108}, "- "},
    {{{"label", 0x100, 16, LABEL}}, {0x108}, "100 label "},
    {{{"data", 0x100, 16, STT_OBJECT, STB_GLOBAL, 0}}, {0x108}, "- "},
    {{{"abs", 0x100, 16, STT_FUNC, STB_GLOBAL, SHN_ABS}}, {0x108}, "- "},
    {{{"resolver", 0x100, 16, STT_GNU_IFUNC, STB_GLOBAL, 0}}, {0x108}, "100 resolver "},
    {{{"", 0x100, 16, FUNC}}, {0x108}, "- "},
    {{{"", 0x100, 0, FUNC}}, {0x108}, "- "},
    {{{"", 0x100, 16, FUNC}, {"local", 0x100, 8, LOCAL}}, {0x104}, "100 local "},
    {{{"outer", 0x100, 64, FUNC}, {"", 0x110, 16, FUNC}}, {0x118}, "100 outer "},
    {{{"a", 0x100, 0, FUNC}, {"", 0x110, 0, FUNC}}, {0x118}, "100 a "},
    {{{"beyond", 0x2000, 16, FUNC}}, {0x108}, "- "},
    {{{"huge", 0x100, ~0ull, FUNC}}, {0x108, 0xfff}, "100 huge 100 huge "},
};

TEST(symbols_choice)
{
    for (size_t i = 0; i < COUNT(cases); i++)
        for (int backwards = 0; backwards < 2; backwards++) {
            AUTO_BUF struct buf text = {0};
            size_t n = 0;
            while (n < MOST && cases[i].at[n])
                n++;
            choose(cases[i].symbols, backwards, cases[i].at, n, &text);
            if (!strcmp(text.data, cases[i].says))
                continue;
            test_fail(__FILE__, __LINE__, "case %zu%s: %s", i, backwards ? " backwards" : "", text.data);
        }
}

/* Offsets that crowd in one place, and others far away: each is found. */
TEST(symbols_of_many_places)
{
    static const struct named s[] = {
        {"a", 0x10, 0x20, FUNC}, {"b", 0x30, 1, FUNC}, {"c", 0x31, 0x700, FUNC}, {NULL, 0, 0, FUNC}};
    AUTO_BUF struct buf file = {0};
    AUTO_ELF struct elf_file e = {0};
    u64 at[66];
    struct symbol out[66];
    make_file(s, false, &file);
    CHECK_EQ(elf_open_memory(&e, file.data, file.len), 0);
    for (size_t i = 0; i < 65; i++)
        at[i] = 0xf + i;
    at[65] = 0x730;
    CHECK_EQ(symbols_find(&e, NULL, at, 66, out), 0);
    for (size_t i = 0; i < 66; i++) {
        const char *name = at[i] < 0x10 ? NULL : at[i] < 0x30 ? "a" : at[i] < 0x31 ? "b" : "c";
        CHECK(!name == !out[i].name && (!name || (out[i].len == 1 && *out[i].name == *name)));
    }
}

/* Tables that are compressed, and names that are no table of names, are passed over. */
TEST(symbols_of_tables_that_cannot_be_read)
{
    static const struct named s[] = {{"f", 0x100, 16, FUNC}, {NULL, 0, 0, FUNC}};
    static const struct {
        unsigned section;
        u32 type;
        u64 flags;
        bool good;
    } tables[] = {{2, SHT_SYMTAB, 0, true}, {2, SHT_SYMTAB, SHF_COMPRESSED, false}, {2, SHT_PROGBITS, 0, false},
                  {2, SHT_DYNSYM, 0, true}, {3, SHT_STRTAB, SHF_COMPRESSED, false}, {3, SHT_PROGBITS, 0, false},
                  {3, SHT_NOBITS, 0, false}};
    const u64 at = 0x108;
    for (size_t i = 0; i < COUNT(tables); i++) {
        AUTO_BUF struct buf file = {0};
        AUTO_ELF struct elf_file e = {0};
        struct symbol out = {0};
        make_file(s, false, &file);
        Elf64_Shdr *h = (Elf64_Shdr *)(file.data + LENGTH) + tables[i].section;
        h->sh_type = tables[i].type;
        h->sh_flags = tables[i].flags;
        CHECK_EQ(elf_open_memory(&e, file.data, file.len), 0);
        CHECK_EQ(symbols_find(&e, NULL, &at, 1, &out), 0);
        CHECK_EQ(out.name != NULL, tables[i].good);
        CHECK_EQ(symbols_find(&e, NULL, NULL, 0, NULL), 0);
    }
}
