/* A shared object of Go and C (agent/runtime/testdata): frames of both in one reply. */
#include "parser/merged_names.h"
#include "base/cleanup.h"
#include "base/fs.h"
#include "base/test.h"
#include "dwarf/dwarf.h"
#include "dwarf/name_index.h"
#include "elf/elf.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static int open_fixture(const char *name)
{
    char path[4096];
    snprintf(path, sizeof(path), "%s/runtime/%s", test_data(), name);
    return open(path, O_RDONLY | O_CLOEXEC);
}

/* File offset of a dynamic symbol; 0: none. */
static u64 dynamic_symbol(int fd, const char *name)
{
    AUTO_ELF struct elf_file e = {0};
    struct elf_section syms, names;
    if (elf_open(&e, fd) || !elf_section(&e, ".dynsym", &syms) || !elf_section(&e, ".dynstr", &names))
        return 0;
    for (size_t i = 0; i < syms.len / sizeof(Elf64_Sym); i++) {
        Elf64_Sym s;
        memcpy(&s, syms.data + i * sizeof(s), sizeof(s));
        const struct elf_segment *seg = elf_segment_at(&e, s.st_value, PF_X);
        if (seg && !strcmp((const char *)names.data + s.st_name, name))
            return s.st_value - seg->vaddr + seg->offset;
    }
    return 0;
}

/* Of the chosen place `line` of a fixture: the offset. */
static u64 chosen(const char *fixture, unsigned line)
{
    AUTO_FREE char *text = NULL;
    size_t cap = 0;
    int fd = open_fixture(fixture);
    AUTO_FCLOSE FILE *f = fd < 0 ? NULL : fdopen(fd, "r");
    for (unsigned i = 0; f && i <= line; i++)
        if (getline(&text, &cap, f) < 0)
            return 0;
    return text ? strtoull(text, NULL, 16) : 0;
}

static void expect(const struct names *v, u32 i, const char *want)
{
    char text[1024] = "";
    for (u32 k = v->first[i]; k < v->first[i + 1]; k++)
        snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s;", v->strings + v->frames[k].name);
    CHECK_STR(text, want);
}

TEST(names_of_go_and_of_c_in_one_file)
{
    AUTO_CLOSE int fd = open_fixture("shared.so");
    if (fd < 0)
        SKIP("there is no go");
    u64 c = dynamic_symbol(fd, "Report");
    u64 offsets[] = {chosen("shared.so.frames", 1), c + 1, chosen("shared.so.frames", 2), 0, c};
    AUTO_BUF struct buf reply = {0};
    struct names v;
    CHECK(c && offsets[0] && offsets[2]);
    CHECK_EQ(merged_names(&(struct names_fds)NAMES_FDS_OF(fd), offsets, 5, &reply), 0);
    CHECK_EQ(names_view(reply.data, reply.len, 5, &v), 0);
    struct names_header h;
    memcpy(&h, reply.data, sizeof(h));
    CHECK(!h.cut && h.n == 5 && h.nframes == v.first[5]);
    expect(&v, 0, "main.in1;main.in2;main.in3;main.in4;main.in5;main.chosen;");
    expect(&v, 1, "Report;");
    expect(&v, 2, "main.sum[...];");
    expect(&v, 3, ";");
    expect(&v, 4, "Report;");
    const struct names_frame *f = &v.frames[v.first[2]];
    CHECK_STR(v.strings + f->system_name, "main.sum[go.shape.string,go.shape.float64]");
    CHECK(f->line > 0 && strstr(v.strings + f->file, "main.go"));
    CHECK(v.frames[v.first[1]].start == c && v.frames[0].start < offsets[0]);
}

/* With an index of the C part, Go's names come from the file as before. A file that is all Go needs none. */
TEST(names_of_go_and_of_c_by_an_index)
{
    AUTO_CLOSE int fd = open_fixture("shared.so"), plain = open_fixture("plain"), mixed = open_fixture("go115");
    if (fd < 0 || mixed < 0)
        SKIP("there is no go");
    u64 c = dynamic_symbol(fd, "Report");
    u64 offsets[] = {chosen("shared.so.frames", 1), c + 1};
    struct names_fds files = NAMES_FDS_OF(fd);
    AUTO_BUF struct buf reply = {0};
    AUTO_FREE void *index = NULL, *none = NULL, *some = NULL;
    struct name_index x;
    struct names v;
    size_t len;
    CHECK_EQ(names_index_fds(&files, true, &index, &len), 0);
    AUTO_CLOSE int names = fs_sealed_memfd("index", index, len);
    CHECK(names_in_runtime(names));
    files.names = names;
    CHECK_EQ(merged_names(&files, offsets, 2, &reply), 0);
    CHECK_EQ(names_view(reply.data, reply.len, 2, &v), 0);
    expect(&v, 0, "main.in1;main.in2;main.in3;main.in4;main.in5;main.chosen;");
    expect(&v, 1, "Report;");
    CHECK_EQ(merged_name_index(&(struct names_fds)NAMES_FDS_OF(plain), &none, &len), -ENODATA);
    CHECK_EQ(merged_name_index(&(struct names_fds)NAMES_FDS_OF(mixed), &some, &len), 0);
    CHECK_EQ(name_index_open(&x, some, len), 0);
    CHECK(x.h->runtime && x.h->keep_suffixes);
}

/* A copy of a fixture whose table says that it has no functions. */
static int damaged(int fd)
{
    AUTO_ELF struct elf_file e = {0};
    struct elf_section s;
    AUTO_CLOSE int copy = memfd_create("damaged", MFD_CLOEXEC);
    u64 none = 0;
    if (copy < 0 || elf_open(&e, fd) || !elf_section(&e, ".gopclntab", &s) ||
        write(copy, e.map, e.size) != (ssize_t)e.size || pwrite(copy, &none, 8, s.data - e.map + 8) != 8)
        return -1;
    return TAKE_FD(copy);
}

TEST(names_of_a_go_file_with_a_damaged_table_are_the_symbols)
{
    AUTO_CLOSE int fd = open_fixture("plain");
    if (fd < 0)
        SKIP("there is no go");
    AUTO_CLOSE int copy = damaged(fd);
    u64 offset = chosen("plain.frames", 1);
    AUTO_BUF struct buf reply = {0};
    struct names v;
    CHECK_EQ(merged_names(&(struct names_fds)NAMES_FDS_OF(copy), &offset, 1, &reply), 0);
    CHECK_EQ(names_view(reply.data, reply.len, 1, &v), 0);
    expect(&v, 0, "main.chosen;");
}

TEST(names_of_a_file_without_go_are_the_symbols)
{
    AUTO_CLOSE int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    AUTO_BUF struct buf merged = {0}, plain = {0};
    u64 offsets[] = {0x1000, 0x100000};
    CHECK_EQ(merged_names(&(struct names_fds)NAMES_FDS_OF(fd), offsets, 2, &merged), 0);
    CHECK_EQ(names_resolve(&(struct names_fds)NAMES_FDS_OF(fd), offsets, 2, &plain), 0);
    CHECK(merged.len == plain.len && !memcmp(merged.data, plain.data, plain.len));
}

TEST(lines_of_a_go_program_are_in_its_own_table)
{
    AUTO_CLOSE int fd = open_fixture("plain");
    AUTO_FREE void *index = NULL;
    size_t len;
    if (fd < 0)
        SKIP("there is no go");
    CHECK_EQ(merged_lines(&(struct dwarf_fds)DWARF_FDS_OF(fd), &index, &len), -ENODATA);
    CHECK_EQ(dwarf_index_build_fds(&(struct dwarf_fds)DWARF_FDS_OF(fd), &index, &len),
             0); /* though there is debug information */
}
