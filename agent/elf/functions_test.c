#include "elf/functions.h"
#include "base/cleanup.h"
#include "base/fs.h"
#include "base/test.h"
#include "dwarf/crafted.h"
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static __attribute__((noinline, used)) int functions_target_one(int x)
{
    return x + 1;
}
static __attribute__((noinline, used)) int functions_target_two(int x)
{
    return x + 2;
}

/* The file offset of a function of this program. */
static int of_program(struct dl_phdr_info *info, size_t size, void *at)
{
    u64 *address = at, vaddr = *address - info->dlpi_addr;
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        if (p->p_type == PT_LOAD && vaddr >= p->p_vaddr && vaddr < p->p_vaddr + p->p_filesz)
            *address = vaddr - p->p_vaddr + p->p_offset;
    }
    return 1; /* the first one is the program */
}

static bool is_near(u64 offset, int (*function)(int))
{
    u64 at = (uintptr_t)function;
    dl_iterate_phdr(of_program, &at);
    return offset >= at && offset < at + 16; /* behind endbr64, perhaps */
}

/* Borrows *out. */
static const struct functions *find_as(functions_readable *readable, const char *pattern, struct buf *out)
{
    AUTO_CLOSE int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    out->len = 0;
    if (functions_find(fd, pattern, readable, out) || !functions_sound(out->data, out->len))
        test_fail(__FILE__, __LINE__, "%s is not searched for", pattern);
    return (const struct functions *)out->data;
}

static const struct functions *find(const char *pattern, struct buf *out)
{
    return find_as(NULL, pattern, out);
}

TEST(functions_by_name)
{
    AUTO_BUF struct buf b = {0};
    const struct functions *f = find("functions_target_two", &b);
    CHECK_EQ(f->n, 1);
    CHECK(is_near(f->v[0].offset + f->v[0].ahead, functions_target_two));
    CHECK_STR(functions_name(f, 0), "functions_target_two");
    CHECK_STR(f->near, "");
}

TEST(functions_by_pattern)
{
    AUTO_BUF struct buf b = {0};
    const struct functions *f = find("functions_target_???", &b);
    CHECK_EQ(f->n, 2);
    CHECK_STR(functions_name(f, 0), "functions_target_one");
    CHECK(is_near(f->v[0].offset + f->v[0].ahead, functions_target_one));
    CHECK(is_near(f->v[1].offset + f->v[1].ahead, functions_target_two));
    f = find("*", &b);
    CHECK(f->n > 1000 && f->n <= f->all);
    for (u32 i = 1; i < f->n; i++)
        CHECK(strcmp(functions_name(f, i - 1), functions_name(f, i)) <= 0);
}

TEST(functions_that_are_not_there_have_neighbours)
{
    AUTO_BUF struct buf b = {0};
    const struct functions *f = find("functions_target", &b);
    CHECK_EQ(f->n, 0);
    CHECK(strstr(f->near, "functions_target_one") && strstr(f->near, "functions_target_two"));
    f = find("FUNCTIONS_TARGET_ONE", &b);
    CHECK_STR(f->near, "functions_target_one");
    f = find("nothing-of-the-kind", &b);
    CHECK_STR(f->near, "");
}

/* Flags of the only one of this name. */
static unsigned flags_of(const char *name)
{
    AUTO_BUF struct buf b = {0};
    const struct functions *f = find(name, &b);
    return f->n == 1 ? f->v[0].flags : 0;
}

TEST(functions_that_begin_a_program_are_kept_off_return_probes)
{
    AUTO_BUF struct buf b = {0};
    u64 place;
    CHECK(flags_of("_start") & FUNCTION_KEEPS_RETURN);
    CHECK(!(flags_of("main") & FUNCTION_KEEPS_RETURN));
    const struct functions *f = find("_start", &b);
    CHECK_EQ(functions_kept_off(f), 1);
    CHECK_EQ(functions_places(f, NULL, true, &place), 0);
    CHECK_EQ(functions_places(f, NULL, false, &place), 1);
}

/* Puts a star where the readable name of a function has none. */
static bool starred(const char *name, bool parameters, struct buf *out)
{
    static const char own[] = "functions_target_";
    if (strncmp(name, own, sizeof(own) - 1) != 0)
        return false;
    buf_printf(out, "zoo::%s%s%s", name[sizeof(own) - 1] == 'o' ? "" : "not_", "target*", parameters ? "(int)" : "");
    return true;
}

static const struct functions *find_readable(const char *pattern, struct buf *out)
{
    return find_as(starred, pattern, out);
}

TEST(functions_by_readable_name)
{
    AUTO_BUF struct buf b = {0};
    const struct functions *f = find_readable("zoo::target*(int)", &b);
    CHECK_EQ(f->n, 1);
    CHECK_STR(functions_name(f, 0), "functions_target_one");
    CHECK_EQ(find_readable("zoo::*target*", &b)->n, 2);
    CHECK_EQ(find_readable("*::*(int)", &b)->n, 2);
    CHECK_EQ(find_readable("zoo::target?(long)", &b)->n, 0);
    f = find_readable("not_target", &b);
    CHECK_STR(f->near, "zoo::not_target*");
}

TEST(functions_of_no_program)
{
    AUTO_BUF struct buf b = {0};
    AUTO_CLOSE int fd = memfd_create("none", MFD_CLOEXEC);
    CHECK_EQ(write(fd, "#!/bin/sh\n", 10), 10);
    CHECK(functions_find(fd, "main", NULL, &b) < 0);
}

/* A file with so many functions, all of which have the same name of so many characters. */
static const struct functions *find_crafted(size_t n, size_t len, struct buf *out)
{
    AUTO_BUF struct buf table = {0}, names = {0}, file = {0};
    Elf64_Sym sym = {.st_name = 1, .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), .st_shndx = 1};
    Elf64_Shdr h;
    buf_char(&names, 0);
    for (size_t i = 0; i < len; i++)
        buf_char(&names, i ? 'x' : '\033');
    buf_char(&names, 0);
    for (size_t i = 0; i < n; i++) {
        sym.st_value = CRAFTED_TEXT + i;
        buf_add(&table, &sym, sizeof(sym));
    }
    struct crafted_section s[] = {{".symtab", table.data, table.len, 0}, {".strtab", names.data, names.len, 0}};
    crafted_elf(&file, s, 2);
    Elf64_Phdr *p = (void *)(file.data + sizeof(Elf64_Ehdr));
    size_t at = ((Elf64_Ehdr *)file.data)->e_shoff + 2 * sizeof(h);
    p->p_filesz = file.len;
    memcpy(&h, file.data + at, sizeof(h));
    h.sh_link = 3;
    memcpy(file.data + at, &h, sizeof(h));
    AUTO_CLOSE int fd = fs_sealed_memfd("file", file.data, file.len);
    if (functions_find(fd, "*", NULL, out) || !functions_sound(out->data, out->len))
        test_fail(__FILE__, __LINE__, "it is not searched");
    return (const struct functions *)out->data;
}

TEST(functions_have_limits)
{
    AUTO_BUF struct buf many = {0}, large = {0};
    const struct functions *f = find_crafted(FUNCTIONS_MAX + 5, 3, &many);
    CHECK_EQ(f->n, FUNCTIONS_MAX);
    CHECK_EQ(f->left_out, 5);
    CHECK_EQ(f->all, FUNCTIONS_MAX + 5);
    CHECK_STR(functions_name(f, 0), "?xx");
    f = find_crafted(10000, 4000, &large);
    CHECK_EQ(f->n, FUNCTIONS_BYTES / 4001);
    CHECK_EQ(f->n + f->left_out, 10000);
}

TEST(functions_are_checked)
{
    struct reply {
        struct functions f;
        struct function v[2];
        char names[8];
    } r = {.f = {.magic = FUNCTIONS_MAGIC, .n = 2, .bytes = 8}, .v = {{.name = 0}, {.name = 4}}, .names = "one\0two"};
    CHECK(functions_sound(&r, sizeof(r)));
    CHECK_STR(functions_name(&r.f, 1), "two");
    CHECK(!functions_sound(&r, sizeof(r) - 1));
    CHECK(!functions_sound(&r, 4));
    const struct {
        size_t offset, size;
        u32 lie;
    } lies[] = {
        {offsetof(struct reply, f.magic), 4, 0},       {offsetof(struct reply, f.n), 4, 1},
        {offsetof(struct reply, f.n), 4, ~0u},         {offsetof(struct reply, f.bytes), 4, ~0u},
        {offsetof(struct reply, f.near), 1, '\033'},   {offsetof(struct reply, v[1].name), 4, 8},
        {offsetof(struct reply, v[0].readable), 4, 8}, {offsetof(struct reply, names), 1, '\033'},
        {offsetof(struct reply, names[7]), 1, 'x'},
    };
    for (size_t i = 0; i < sizeof(lies) / sizeof(*lies); i++) {
        struct reply lying = r;
        memcpy((char *)&lying + lies[i].offset, &lies[i].lie, lies[i].size);
        CHECK(!functions_sound(&lying, sizeof(lying)));
    }
    memset(r.f.near, 'x', sizeof(r.f.near));
    CHECK(!functions_sound(&r, sizeof(r)));
}

TEST(functions_are_told_from_offsets)
{
    static const struct {
        const char *text, *name;
        u64 offset;
        bool bare, within;
        int rc;
    } cases[] = {
        {"f", "f", 0, false, false, 0},
        {"f+0", "f", 0, false, true, 0},
        {"f+0x1f", "f", 31, false, true, 0},
        {"a+b+12", "a+b", 12, false, true, 0},
        {"operator+", "operator+", 0, false, false, 0},
        {"f+12z", "f+12z", 0, false, false, 0},
        {"f+-1", "f+-1", 0, false, false, 0},
        {"0x1f", "", 31, true, false, 0},
        {"0xyz", "0xyz", 0, false, false, 0},
        {"", "", 0, false, false, -EINVAL},
        {"+4", "", 0, false, false, -EINVAL},
        {"f+99999999999999999999", "", 0, false, false, -EINVAL},
        {"0xfffffffffffffffff", "", 0, false, false, -EINVAL},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct functions_spot s = {0};
        CHECK_EQ(functions_split(cases[i].text, &s), cases[i].rc);
        CHECK_STR(s.name, cases[i].name);
        CHECK(s.bare == cases[i].bare && s.within == cases[i].within);
        CHECK_EQ(cases[i].within || cases[i].bare ? s.offset : 0, cases[i].offset);
    }
}

TEST(places_of_functions_are_there_once)
{
    struct functions *f = calloc(1, sizeof(*f) + 5 * sizeof(*f->v));
    u64 out[5], more = 1;
    CHECK(f);
    f->n = 5;
    f->v[0] = (struct function){.offset = 0x200, .ahead = 4};
    f->v[1] = (struct function){.offset = 0x100};
    f->v[2] = (struct function){.offset = 0x200, .ahead = 4}; /* another name of the first one */
    f->v[3] = (struct function){.flags = FUNCTION_INDIRECT};
    f->v[4] = (struct function){.offset = 0x300, .flags = FUNCTION_BETWEEN};
    CHECK_EQ(functions_places(f, NULL, false, out), 2);
    CHECK(out[0] == 0x100 && out[1] == 0x204);
    CHECK_EQ(functions_places(f, &more, false, out), 2);
    CHECK(out[0] == 0x101 && out[1] == 0x201);
    free(f);
}
