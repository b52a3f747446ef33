/* Variables by offset, in a file with all symbols, and in one without but with its debug file. */
#include "base/cleanup.h"
#include "base/fs.h"
#include "base/test.h"
#include "cfi/fixture.h"
#include "dwarf/names.h"
#include "elf/symbols.h"
#include <string.h>

/* Offset of a variable in the writable segment, whose end in .bss the file does not have; 0: none. */
static u64 offset_of(const struct elf_file *e, const char *name)
{
    struct elf_section syms, names;
    if (!elf_section(e, ".symtab", &syms) || !elf_section(e, ".strtab", &names))
        return 0;
    for (size_t i = 0; i < syms.len / sizeof(Elf64_Sym); i++) {
        Elf64_Sym s;
        memcpy(&s, syms.data + i * sizeof(s), sizeof(s));
        for (u32 h = 0; h < e->phnum && !strcmp((const char *)names.data + s.st_name, name); h++) {
            Elf64_Phdr p = elf_phdr(e, h);
            if (p.p_type == PT_LOAD && p.p_flags & PF_W && s.st_value - p.p_vaddr < p.p_memsz)
                return s.st_value - p.p_vaddr + p.p_offset;
        }
    }
    return 0;
}

static void say(const struct names_fds *f, const u64 *offsets, size_t n, struct buf *out)
{
    AUTO_BUF struct buf reply = {0};
    struct names v;
    CHECK_EQ(names_resolve(f, offsets, n, &reply), 0);
    CHECK_EQ(names_view(reply.data, reply.len, n, &v), 0);
    for (size_t i = 0; i < n; i++) {
        const struct names_frame *frame = &v.frames[v.first[i]];
        CHECK_EQ(v.first[i + 1], v.first[i] + 1);
        buf_printf(out, "%s|%s+%llx ", v.strings + frame->name, v.strings + frame->system_name,
                   (unsigned long long)frame->start);
    }
    buf_char(out, 0);
}

struct question {
    u64 offsets[8];
    size_t n;
};

static struct question ask(const struct elf_file *e)
{
    struct question q = {.n = 8};
    static const char *const names[] = {"in_data", "table", "in_bss", "_ZN2ns4lockE", "lock.0", "last_one"};
    for (size_t i = 0; i < 6; i++)
        q.offsets[i] = offset_of(e, names[i]) | NAMES_DATA;
    q.offsets[1] += 0x28;
    q.offsets[6] = 0x7fffffffull | NAMES_DATA; /* in no segment */
    q.offsets[7] = 0x7fffffffull;              /* code */
    return q;
}

static const char *const SAYS =
    "in_data|in_data+0 table|table+28 in_bss|in_bss+0 ns::lock|_ZN2ns4lockE+0 "
    "lock.0|lock.0+0 last_one|last_one+0 heap|heap+0 |+7fffffff ";

TEST(data_names_of_variables)
{
    AUTO_ELF struct elf_file e = {0};
    AUTO_CLOSE int fd = fixture_fd("data.so");
    AUTO_BUF struct buf text = {0};
    CHECK_EQ(fixture_elf("data.so", &e), 0);
    struct question q = ask(&e);
    CHECK((q.offsets[5] & ~NAMES_DATA) > e.size); /* in .bss, beyond the end */
    say(&(struct names_fds)NAMES_FDS_OF(fd), q.offsets, q.n, &text);
    CHECK_STR(text.data, SAYS);
}

TEST(data_names_of_a_debug_file_whatever_the_name_index_has)
{
    AUTO_ELF struct elf_file e = {0};
    AUTO_CLOSE int fd = fixture_fd("data-stripped.so");
    AUTO_CLOSE int debug = fixture_fd("data-debug");
    AUTO_BUF struct buf text = {0}, alone = {0};
    AUTO_FREE void *index = NULL;
    size_t len = 0;
    CHECK_EQ(fixture_elf("data.so", &e), 0);
    struct question q = ask(&e);
    struct names_fds f = NAMES_FDS_OF(fd);
    say(&f, q.offsets, q.n, &alone);
    CHECK(strstr(alone.data, "in_bss|in_bss+0 ") != NULL); /* .dynsym has it */
    CHECK(!strncmp(alone.data, "|+", 2));                  /* but nothing static: its address */
    f.symbols = debug;
    CHECK_EQ(names_index_fds(&f, false, &index, &len), 0);
    AUTO_CLOSE int names = fs_sealed_memfd("names", index, len);
    f.names = names;
    say(&f, q.offsets, q.n, &text);
    CHECK_STR(text.data, SAYS);
}

/* Functions are no data, nor are thread-local variables, whose values are no addresses. */
TEST(data_names_are_not_of_code_or_threads)
{
    static const char *const names[] = {"outer", "thread_local_lock"};
    static const char *const files[] = {"symbols.so", "data.so"};
    for (size_t k = 0; k < 2; k++) {
        AUTO_ELF struct elf_file e = {0};
        struct elf_section syms, texts;
        struct symbol out;
        u64 at = ~0ull;
        CHECK_EQ(fixture_elf(files[k], &e), 0);
        CHECK(elf_section(&e, ".symtab", &syms) && elf_section(&e, ".strtab", &texts));
        for (size_t i = 0; i < syms.len / sizeof(Elf64_Sym); i++) {
            Elf64_Sym s;
            memcpy(&s, syms.data + i * sizeof(s), sizeof(s));
            at = !strcmp((const char *)texts.data + s.st_name, names[k]) ? s.st_value : at;
        }
        CHECK(at != ~0ull);
        CHECK_EQ(symbols_find_data(&e, NULL, &at, 1, &out), 0);
        CHECK(!out.name);
    }
}
