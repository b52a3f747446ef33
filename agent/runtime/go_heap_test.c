/* Where Go keeps its heap profile: in real programs of all versions and kinds, and in crafted ones. */
#include "runtime/go_heap.h"
#include "base/cleanup.h"
#include "base/test.h"
#include "runtime/go_crafted.h"
#include <fcntl.h>
#include <glob.h>

/* ---- Real programs ----------------------------------------------------------------------------------------------- */

/* The distance of a variable by the symbol table; 0: it has none. */
static u64 by_symbol(const struct elf_file *e, const char *name)
{
    struct elf_section tab, str;
    const struct elf_segment *code = NULL;
    for (size_t i = 0; i < e->nloads && !code; i++)
        code = e->loads[i].flags & PF_X ? &e->loads[i] : NULL;
    if (!code || !elf_section(e, ".symtab", &tab) || !elf_section(e, ".strtab", &str))
        return 0;
    for (u64 at = 0; at + sizeof(Elf64_Sym) <= tab.len; at += sizeof(Elf64_Sym)) {
        Elf64_Sym s;
        memcpy(&s, tab.data + at, sizeof(s));
        if (s.st_name < str.len && !strcmp((const char *)str.data + s.st_name, name))
            return s.st_value - code->vaddr + code->offset;
    }
    return 0;
}

static void check_variable(const struct elf_file *e, const char *path, const char *name, u64 found)
{
    u64 known = by_symbol(e, name);
    if (!found || (known && known != found))
        printf("%s: %s at %llx, not %llx\n", path, name, (unsigned long long)found, (unsigned long long)known);
    CHECK(found && (!known || known == found));
}

static void check_file(const char *path, unsigned *found)
{
    AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
    AUTO_ELF struct elf_file e = {0};
    struct go_heap h;
    if (fd < 0 || elf_open(&e, fd))
        return;
    CHECK_EQ(go_heap_read(fd, &h), 0);
    CHECK(go_heap_sound(&h, sizeof(h)));
    CHECK_EQ(h.found, 1);
    check_variable(&e, path, "runtime.mbuckets", h.buckets);
    check_variable(&e, path, "runtime.MemProfileRate", h.rate);
    check_variable(&e, path, "runtime.mProfCycle", h.cycle);
    ++*found;
}

TEST(go_heaps_are_found_in_real_programs)
{
    static const char *const names[] = {"plain", "stripped", "pie", "cgo", "shared.so", "bare-stripped", "old-go1.*"};
    unsigned found = 0;
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        char path[4096];
        glob_t g;
        snprintf(path, sizeof(path), "%s/runtime/%s", test_data(), names[i]);
        if (glob(path, 0, NULL, &g))
            continue;
        for (size_t k = 0; k < g.gl_pathc; k++)
            if (!strstr(g.gl_pathv[k], ".frames"))
                check_file(g.gl_pathv[k], &found);
        globfree(&g);
    }
    if (!found)
        SKIP("no Go");
}

TEST(go_heaps_are_not_in_programs_without_go)
{
    AUTO_CLOSE int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    struct go_heap h;
    CHECK_EQ(go_heap_read(fd, &h), 0);
    CHECK_EQ(h.found, 0);
}

/* ---- Crafted ones ------------------------------------------------------------------------------------------------ */

TEST(go_heaps_are_what_a_function_loads_first)
{
    static const u8 NARROW[] = {0x8b, 0x05, 0xfa, 0x0f, 0x00, 0x00}, WIDE[] = {0x48, 0x8b, 0x15, 0xf9, 0x1f, 0, 0};
    static const char NAME[] = "runtime.mProf_FlushLocked";
    u8 file[CRAFTED_SIZE];
    AUTO_ELF struct elf_file e = {0};
    struct go_heap h;
    crafted_program(file, GO_1_20);
    memcpy(file + CRAFTED_TABLE + CRAFTED_NAMES + 1, NAME, sizeof(NAME));
    CHECK_EQ(elf_open_memory(&e, file, CRAFTED_SIZE), 0);
    go_heap_find(&e, &h);
    CHECK_EQ(h.found, 0); /* nothing is loaded */
    memcpy(file + 0x1010, NARROW, sizeof(NARROW));
    go_heap_find(&e, &h);
    CHECK_EQ(h.found, 0); /* no pointer */
    memcpy(file + 0x1020, WIDE, sizeof(WIDE));
    go_heap_find(&e, &h);
    CHECK_EQ(h.found, 0); /* it would be in code: all of the file is */
}

TEST(go_heap_answers_are_checked)
{
    struct go_heap h = {.magic = GO_HEAP_MAGIC, .found = 1, .buckets = 8};
    CHECK(go_heap_sound(&h, sizeof(h)));
    CHECK(!go_heap_sound(&h, sizeof(h) - 1));
    h.buckets = 0;
    CHECK(!go_heap_sound(&h, sizeof(h)));
    h.found = 0;
    CHECK(go_heap_sound(&h, sizeof(h)));
    h.magic++;
    CHECK(!go_heap_sound(&h, sizeof(h)));
}
