/* Name indexes: they say what reading the file says. */
#include "dwarf/name_index.h"
#include "base/cleanup.h"
#include "base/fs.h"
#include "base/hash.h"
#include "base/test.h"
#include "cfi/fixture.h"
#include "dwarf/names_elf.h"
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdlib.h>
#include <sys/stat.h>

#define CODE     0x1000 /* in memory; in the file it begins at 0 */
#define LENGTH   0x2000
#define FUNCTION ELF64_ST_INFO(STB_GLOBAL, STT_FUNC)
#define LABEL    ELF64_ST_INFO(STB_LOCAL, STT_NOTYPE)

struct named {
    const char *name;
    u64 start, size;
    u8 info;
};

/* A file of code with these symbols. */
static void make_file(const struct named *s, size_t n, struct buf *out)
{
    AUTO_BUF struct buf syms = {0}, names = {0};
    buf_char(&names, 0);
    for (size_t i = 0; i < n; i++) {
        const Elf64_Sym sym = {.st_name = (Elf64_Word)names.len,
                               .st_value = CODE + s[i].start,
                               .st_size = s[i].size,
                               .st_info = s[i].info,
                               .st_shndx = 1};
        buf_add(&syms, &sym, sizeof(sym));
        buf_add(&names, s[i].name, strlen(s[i].name) + 1);
    }
    const Elf64_Ehdr e = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
                          .e_type = ET_DYN,
                          .e_machine = EM_X86_64,
                          .e_phoff = sizeof(e),
                          .e_phnum = 1,
                          .e_phentsize = sizeof(Elf64_Phdr),
                          .e_shoff = sizeof(e) + sizeof(Elf64_Phdr),
                          .e_shnum = 4,
                          .e_shentsize = sizeof(Elf64_Shdr)};
    const Elf64_Phdr p = {
        .p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_vaddr = CODE, .p_filesz = LENGTH, .p_memsz = LENGTH};
    const Elf64_Shdr h[4] = {
        [1] = {.sh_type = SHT_PROGBITS, .sh_flags = SHF_EXECINSTR, .sh_addr = CODE, .sh_size = 0x1800},
        [2] = {.sh_type = SHT_SYMTAB, .sh_offset = LENGTH, .sh_size = syms.len, .sh_link = 3},
        [3] = {.sh_type = SHT_STRTAB, .sh_offset = LENGTH + syms.len, .sh_size = names.len},
    };
    buf_add(out, &e, sizeof(e));
    buf_add(out, &p, sizeof(p));
    buf_add(out, h, sizeof(h));
    while (out->len < LENGTH)
        buf_char(out, 0);
    buf_add(out, syms.data, syms.len);
    buf_add(out, names.data, names.len);
}

/* "START NAME" at each place, "?" for a function without a name, "-" for nothing. */
static void describe(const struct name_index *x, const u64 *at, size_t n, struct buf *out)
{
    struct name_index_text text;
    struct name_hit hit;
    for (size_t i = 0; i < n; i++) {
        name_index_find(x, at[i], &text, &hit);
        if (hit.name)
            buf_printf(out, "%llx %.*s ", (unsigned long long)hit.start, (int)hit.len, hit.name);
        else
            buf_str(out, hit.kind == NAME_FDE ? "? " : "- ");
    }
    buf_char(out, 0);
}

TEST(name_index_of_nested_symbols)
{
    static const struct named symbols[] = {
        {"outer", 0x100, 0x100, FUNCTION},  {"middle", 0x120, 0x80, FUNCTION}, {"inner", 0x140, 0x10, FUNCTION},
        {"longer", 0x140, 0x20, FUNCTION},  {"alias", 0x300, 0x10, FUNCTION},  {"_alias", 0x300, 0x10, FUNCTION},
        {"bare", 0x400, 0, LABEL},          {"sized", 0x410, 0x10, FUNCTION},  {"bare@VERS_1", 0x500, 0, LABEL},
        {"last", 0x600, 0x10000, FUNCTION},
    };
    static const u64 at[] = {0xff,  0x100, 0x11f, 0x120, 0x140, 0x150, 0x160, 0x19f, 0x1a0,  0x1ff,  0x200,
                             0x300, 0x40f, 0x410, 0x420, 0x500, 0x5ff, 0x600, 0xfff, 0x1fff, 0x2000, ~0ull};
    AUTO_BUF struct buf file = {0}, text = {0};
    AUTO_ELF struct elf_file e = {0};
    AUTO_FREE void *index = NULL;
    struct name_index x;
    size_t len;
    make_file(symbols, sizeof(symbols) / sizeof(*symbols), &file);
    CHECK_EQ(elf_open_memory(&e, file.data, file.len), 0);
    CHECK_EQ(name_index_build(&e, NULL, true, &index, &len), 0);
    CHECK_EQ(name_index_check(index, len), 0);
    CHECK_EQ(name_index_open(&x, index, len), 0);
    CHECK(x.h->runtime == 1 && !x.h->keep_suffixes);
    describe(&x, at, sizeof(at) / sizeof(*at), &text);
    CHECK_STR(text.data,
              "- 100 outer 100 outer 120 middle 140 inner 140 longer 120 middle 120 middle 100 outer "
              "100 outer - 300 alias 400 bare 410 sized - 500 bare 500 bare 600 last 600 last 600 last - - ");
    u64 address;
    CHECK(name_index_address(&x, 0x123, &address) && address == CODE + 0x123);
    CHECK(!name_index_address(&x, LENGTH, &address));
}

TEST(name_index_of_nothing)
{
    AUTO_BUF struct buf file = {0};
    AUTO_ELF struct elf_file e = {0};
    AUTO_FREE void *index = NULL;
    struct name_index x;
    struct name_index_text text;
    struct name_hit hit;
    size_t len;
    make_file(NULL, 0, &file);
    CHECK_EQ(elf_open_memory(&e, file.data, file.len), 0);
    CHECK_EQ(name_index_build(&e, NULL, false, &index, &len), 0);
    CHECK_EQ(name_index_open(&x, index, len), 0);
    CHECK(!x.h->runtime && !x.h->nblocks);
    name_index_find(&x, 0x100, &text, &hit);
    CHECK_EQ(hit.kind, NAME_NONE);
}

/* A long name around thousands of short functions would be written thousands of times. */
TEST(name_index_is_not_larger_than_its_file)
{
    enum { N = 3000 };
    AUTO_BUF struct buf file = {0};
    AUTO_ELF struct elf_file e = {0};
    AUTO_FREE void *index = NULL;
    AUTO_FREE char *name = calloc(1, SYMBOLS_MAX_NAME);
    AUTO_FREE struct named *s = calloc(N, sizeof(*s));
    size_t len;
    CHECK(name && s);
    memset(name, 'x', SYMBOLS_MAX_NAME - 1);
    s[0] = (struct named){name, 0, LENGTH, FUNCTION};
    for (u64 i = 1; i < N; i++)
        s[i] = (struct named){"f", 2 * i, 1, FUNCTION};
    make_file(s, N, &file);
    CHECK_EQ(elf_open_memory(&e, file.data, file.len), 0);
    CHECK_EQ(name_index_build(&e, NULL, false, &index, &len), -ENOSPC);
    CHECK(!index);
}

/* ---- Against the files themselves ------------------------------------------------------------------------------- */

/* Names from both sources are the same. A file with symbols in three levels may be read otherwise for many offsets at
 * once than for one; then one decides. */
static bool same_at(const struct elf_file *e, const struct name_index *x, u64 offset, const struct names *read, u32 i,
                    const struct names *found)
{
    AUTO_BUF struct buf one = {0};
    struct names single;
    const struct names_frame *a = &read->frames[read->first[i]], *b = &found->frames[found->first[i]];
    if (read->first[i + 1] - read->first[i] != 1 || found->first[i + 1] - found->first[i] != 1)
        return false;
    if (a->start == b->start && !strcmp(read->strings + a->name, found->strings + b->name) &&
        !strcmp(read->strings + a->system_name, found->strings + b->system_name))
        return true;
    if (names_resolve_elf(e, NULL, NULL, DEMANGLE_FULL, &offset, 1, &one) || names_view(one.data, one.len, 1, &single))
        return false;
    a = single.frames;
    return a->start == b->start && !strcmp(single.strings + a->name, found->strings + b->name);
}

#define SAMPLE 400

/* Offsets all over the code, with some behind it. */
static size_t choose_offsets(const struct elf_file *e, u64 seed, u64 out[SAMPLE])
{
    size_t n = 0;
    for (size_t i = 0; i < e->nloads && n < SAMPLE - 1; i++) {
        const struct elf_segment *s = &e->loads[i];
        for (size_t k = 0; (s->flags & PF_X) && s->filesz && k < SAMPLE / 2 && n < SAMPLE - 1; k++)
            out[n++] = s->offset + hash_u64(seed + k) % s->filesz;
    }
    out[n++] = e->size;
    return n;
}

/* The number of offsets at which an index differs from its file; < 0: no such index. */
static int differences(const struct elf_file *e, const char *path)
{
    AUTO_FREE void *index = NULL;
    AUTO_BUF struct buf a = {0}, b = {0};
    struct name_index x;
    struct names read, found;
    u64 offsets[SAMPLE];
    size_t len, n = choose_offsets(e, hash_bytes(path, strlen(path), 0), offsets);
    int differ = 0;
    if (name_index_build(e, NULL, false, &index, &len) || name_index_check(index, len) ||
        name_index_open(&x, index, len) || names_resolve_elf(e, NULL, NULL, DEMANGLE_FULL, offsets, n, &a) ||
        names_resolve_index(&x, NULL, DEMANGLE_FULL, offsets, n, &b) || names_view(a.data, a.len, n, &read) ||
        names_view(b.data, b.len, n, &found))
        return -1;
    for (u32 i = 0; i < n; i++) {
        bool same = same_at(e, &x, offsets[i], &read, i, &found);
        if (!same)
            printf("  %s: offset 0x%llx\n", path, (unsigned long long)offsets[i]);
        differ += !same;
    }
    return differ;
}

TEST(name_index_equals_reading_the_file)
{
    enum { FILES = 60, LARGEST = 8 << 20 };
    glob_t g = {0};
    size_t tried = 0;
    int differ = 0;
    glob("/usr/lib/x86_64-linux-gnu/*.so.[0-9]*", 0, NULL, &g);
    glob("/usr/bin/*", GLOB_APPEND, NULL, &g);
    glob("/usr/sbin/*", GLOB_APPEND, NULL, &g);
    for (size_t i = 0; i < g.gl_pathc; i += 1 + g.gl_pathc / FILES) {
        struct stat st;
        AUTO_CLOSE int fd = open(g.gl_pathv[i], O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        AUTO_ELF struct elf_file e = {0};
        if (fd < 0 || fstat(fd, &st) || st.st_size > LARGEST || elf_open(&e, fd))
            continue;
        int n = differences(&e, g.gl_pathv[i]);
        CHECK(n >= 0);
        differ += n;
        tried++;
    }
    globfree(&g);
    CHECK_EQ(differ, 0);
    if (tried < 5)
        SKIP("few programs");
}

/* Makes labels without size of a file's functions, and leaves every second one out. */
static bool make_labels(const struct elf_file *e, u8 *bytes)
{
    struct elf_section s;
    if (!elf_section(e, ".symtab", &s))
        return false;
    for (size_t i = 0; i < s.len / sizeof(Elf64_Sym); i++) {
        u8 *at = bytes + (s.data - e->map) + i * sizeof(Elf64_Sym);
        Elf64_Sym sym;
        memcpy(&sym, at, sizeof(sym));
        sym.st_size = 0;
        sym.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_NOTYPE);
        sym.st_shndx = i % 2 ? SHN_UNDEF : sym.st_shndx;
        memcpy(at, &sym, sizeof(sym));
    }
    return true;
}

/* A label counts up to where unwind information knows of another function. */
TEST(name_index_of_labels_and_unwind_information)
{
    AUTO_ELF struct elf_file e = {0}, changed = {0};
    AUTO_FREE void *index = NULL;
    struct name_index x;
    struct name_index_text text;
    struct name_hit hit;
    u64 offsets[SAMPLE];
    size_t len, n, kinds[NAME_SIZED + 1] = {0};
    if (fixture_elf("dwarf-5", &e))
        SKIP("no fixture");
    AUTO_FREE u8 *bytes = malloc(e.size);
    memcpy(bytes, e.map, e.size);
    CHECK(make_labels(&e, bytes));
    CHECK_EQ(elf_open_memory(&changed, bytes, e.size), 0);
    CHECK_EQ(differences(&changed, "labels"), 0);
    CHECK_EQ(name_index_build(&changed, NULL, false, &index, &len), 0);
    CHECK_EQ(name_index_open(&x, index, len), 0);
    n = choose_offsets(&changed, 7, offsets);
    for (size_t i = 0; i < n; i++) {
        name_index_find(&x, offsets[i], &text, &hit);
        kinds[hit.kind]++;
    }
    CHECK(kinds[NAME_LABEL] && kinds[NAME_FDE]);
}

static bool same_frames(const struct names *a, const struct names *b)
{
    bool same = a->n == b->n && !memcmp(a->first, b->first, (a->n + 1) * sizeof(u32));
    for (u32 i = 0; same && i < a->first[a->n]; i++) {
        const struct names_frame *x = &a->frames[i], *y = &b->frames[i];
        same = x->start == y->start && x->line == y->line && !strcmp(a->strings + x->name, b->strings + y->name) &&
               !strcmp(a->strings + x->system_name, b->strings + y->system_name) &&
               !strcmp(a->strings + x->file, b->strings + y->file);
    }
    return same;
}

/* A memfd of what a builder made; -1: it failed. */
static int memfd_of(int err, void *data, size_t len)
{
    int fd = err ? -1 : fs_sealed_memfd("index", data, len);
    free(data);
    return fd;
}

/* All sources of a file: with its debug file or without, with source lines. Then the file is not needed. */
static void compare_sources(const char *name, const char *debug)
{
    AUTO_CLOSE int file = fixture_fd(name), symbols = debug ? fixture_fd(debug) : -1;
    AUTO_ELF struct elf_file e = {0};
    AUTO_BUF struct buf a = {0}, b = {0};
    struct names read, found;
    struct dwarf_fds sources = DWARF_FDS_OF(file);
    u64 offsets[SAMPLE];
    void *data = NULL;
    size_t len = 0;
    if (file < 0)
        SKIP("no fixtures");
    CHECK_EQ(elf_open(&e, file), 0);
    size_t n = choose_offsets(&e, 7, offsets);
    int err = dwarf_index_build_fds(&sources, &data, &len);
    AUTO_CLOSE int lines = memfd_of(err, data, len);
    struct names_fds direct = {.file = file, .index = lines, .symbols = symbols, .names = -1};
    data = NULL;
    err = names_index_fds(&direct, false, &data, &len);
    AUTO_CLOSE int names = memfd_of(err, data, len);
    struct names_fds by_index = {.file = -1, .index = lines, .symbols = -1, .names = names};
    CHECK(names >= 0 && !names_in_runtime(names));
    CHECK_EQ(names_resolve(&direct, offsets, n, &a), 0);
    CHECK_EQ(names_resolve(&by_index, offsets, n, &b), 0);
    CHECK_EQ(names_view(a.data, a.len, n, &read), 0);
    CHECK_EQ(names_view(b.data, b.len, n, &found), 0);
    CHECK(same_frames(&read, &found));
}

TEST(name_index_of_all_sources)
{
    compare_sources("dwarf-5", NULL);
    compare_sources("dwarf-mini", NULL);
    compare_sources("dwarf-stripped", "dwarf-5");
    compare_sources("cfi.so", NULL);
}

/* ---- Damage ----------------------------------------------------------------------------------------------------- */

TEST(name_index_that_is_damaged)
{
    AUTO_CLOSE int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    AUTO_ELF struct elf_file e = {0};
    AUTO_FREE u8 *index = NULL;
    struct name_index_text text;
    struct name_index x;
    struct name_hit hit;
    size_t len;
    CHECK_EQ(elf_open(&e, fd), 0);
    CHECK_EQ(name_index_build(&e, NULL, false, (void **)&index, &len), 0);
    for (size_t cut = 1; cut < 200; cut++)
        CHECK_EQ(name_index_open(&x, index, len - cut), -EBADMSG);
    CHECK_EQ(name_index_open(&x, index, 8), -EBADMSG);
    for (u64 i = 0; i < 4000; i++) {
        index[i < 64 ? i : hash_u64(i) % len] ^= (u8)(1u << i % 8);
        CHECK_EQ(name_index_check(index, len), -EBADMSG);
        if (!name_index_open(&x, index, len))
            name_index_find(&x, x.h->base + hash_u64(~i) % e.size, &text, &hit);
        if (i < 64)
            index[i] ^= (u8)(1u << i % 8);
    }
}
