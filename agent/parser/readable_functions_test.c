/* Where probes may be within functions: of a file with some made by hand. */
#include "parser/readable_functions.h"
#include "base/cleanup.h"
#include "base/fs.h"
#include "base/test.h"
#include "dwarf/crafted.h"
#include "elf/functions.h"
#include <string.h>

/* lea 5(%rdi),%rax; ret; a byte that is no code; nop */
static const u8 CODE[] = {0x48, 0x8d, 0x47, 0x05, 0xc3, 0x06, 0x90};
#define CODE_AT 0x1000 /* in the file, and in memory: the segment has no other place */

static int new_file(bool stripped)
{
    AUTO_BUF struct buf file = {0};
    const Elf64_Sym table[] = {
        {0},
        {.st_name = 1, .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), .st_shndx = 1, .st_size = sizeof(CODE)},
    };
    Elf64_Sym symbols[2];
    memcpy(symbols, table, sizeof(symbols));
    struct crafted_section s[] = {{".symtab", symbols, sizeof(symbols), 0}, {".strtab", "\0work", 6, 0}};
    symbols[1].st_value = CRAFTED_TEXT;
    crafted_elf(&file, s, stripped ? 0 : 2);
    Elf64_Ehdr *h = (void *)file.data;
    Elf64_Phdr *p = (void *)(file.data + sizeof(*h));
    const u32 link = 3;
    if (!stripped)
        memcpy(file.data + h->e_shoff + 2 * sizeof(Elf64_Shdr) + offsetof(Elf64_Shdr, sh_link), &link, sizeof(link));
    for (size_t at = file.len; at < CODE_AT; at++)
        buf_char(&file, 0);
    buf_add(&file, CODE, sizeof(CODE));
    p = (void *)(file.data + sizeof(*h));
    p->p_offset = CODE_AT;
    p->p_vaddr = CRAFTED_TEXT;
    p->p_filesz = sizeof(CODE);
    return fs_sealed_memfd("file", file.data, file.len);
}

/* Whether nothing begins there: 0 or 1; -1: it was refused; -2: other than n are found, or `code` is not so. */
static int between(const char *text, u32 n, u32 code)
{
    AUTO_BUF struct buf b = {0};
    AUTO_CLOSE int fd = new_file(false);
    if (fd < 0 || readable_functions(fd, -1, text, &b) || !functions_sound(b.data, b.len))
        return -1;
    const struct functions *f = (const void *)b.data;
    if (f->n != n || f->code != code)
        return -2;
    return f->n ? (f->v[0].flags & FUNCTION_BETWEEN) != 0 : 0;
}

TEST(places_within_functions_begin_instructions)
{
    CHECK_EQ(between("work", 1, 0), 0);
    CHECK_EQ(between("work+0", 1, 0), 0);
    CHECK_EQ(between("work+4", 1, 0), 0);
    CHECK_EQ(between("work+0x4", 1, 0), 0);
    for (int at = 1; at < 4; at++) {
        char text[] = "work+N";
        text[5] = (char)('0' + at);
        CHECK_EQ(between(text, 1, 0), 1);
    }
    CHECK_EQ(between("work+6", 1, 0), 1); /* behind what is no instruction */
    CHECK_EQ(between("work+7", 1, 0), 1);
    CHECK_EQ(between("work+18446744073709551615", 1, 0), 1);
    CHECK_EQ(between("w*k+4", 1, 0), 0);
    CHECK_EQ(between("wor+4", 0, 0), 0);
    CHECK_EQ(between("work+18446744073709551616", 0, 0), -1);
}

TEST(places_in_files_begin_instructions)
{
    CHECK_EQ(between("0x1000", 1, 1), 0);
    CHECK_EQ(between("0x1004", 1, 1), 0);
    CHECK_EQ(between("0x1003", 1, 1), 1);
    CHECK_EQ(between("0x1007", 0, 0), 0);
    CHECK_EQ(between("0xfff", 0, 0), 0);
    CHECK_EQ(between("0xffffffffffffffff", 0, 0), 0);
}

/* Its addresses are those of the file itself, its offsets are not. */
TEST(functions_are_named_by_a_debug_file)
{
    AUTO_BUF struct buf b = {0};
    AUTO_CLOSE int stripped = new_file(true), debug = new_file(false);
    CHECK_EQ(readable_functions(stripped, -1, "work", &b), 0);
    CHECK_EQ(((const struct functions *)b.data)->n, 0);
    b.len = 0;
    CHECK_EQ(readable_functions(stripped, debug, "work", &b), 0);
    const struct functions *f = (const void *)b.data;
    CHECK(functions_sound(b.data, b.len) && f->n == 1 && f->v[0].offset == CODE_AT);
    b.len = 0;
    AUTO_CLOSE int text = fs_sealed_memfd("text", "no ELF file", 11);
    CHECK_EQ(readable_functions(stripped, text, "work", &b), 0);
    CHECK_EQ(((const struct functions *)b.data)->n, 0);
}
