/* Where goroutines wait for locks: in real programs of all versions and kinds, and in crafted ones. */
#include "runtime/go_locks.h"
#include "base/cleanup.h"
#include "base/test.h"
#include "runtime/go_crafted.h"
#include <fcntl.h>
#include <glob.h>

/* ---- Real programs ----------------------------------------------------------------------------------------------- */

/* The beginning has a branch that the kernel emulates. There are two ends: a return without waiting, and after it a
 * call, just before another return. */
static bool has_places(const struct elf_file *e, const struct allocators *a)
{
    bool right = a->n == 3;
    unsigned calls = 0;
    for (u32 i = 0; i < a->n; i++) {
        const u8 *code = e->map + a->site[i].offset;
        bool begins = a->site[i].call == XP_GO_WAITS && (code[0] == 0x76 || (code[0] == 0x0f && code[1] == 0x86));
        bool ends = a->site[i].call == XP_GO_ENDS && (code[0] == 0xc3 || code[0] == 0xe8);
        calls += code[0] == 0xe8;
        right &= i ? ends : begins;
    }
    return right && calls == 1;
}

static void check_file(const char *path, unsigned *found)
{
    AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
    AUTO_ELF struct elf_file e = {0};
    struct allocators a;
    if (fd < 0 || elf_open(&e, fd))
        return;
    CHECK_EQ(go_locks_read(fd, &a), 0);
    CHECK(go_locks_sound(&a, sizeof(a)));
    if (!has_places(&e, &a))
        printf("%s: %u places\n", path, a.n);
    CHECK(has_places(&e, &a));
    ++*found;
}

TEST(go_locks_are_found_in_real_programs)
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

TEST(go_locks_are_not_in_programs_without_go)
{
    AUTO_CLOSE int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    struct allocators a;
    CHECK_EQ(go_locks_read(fd, &a), 0);
    CHECK_EQ(a.n, 0);
}

/* ---- Crafted ones ------------------------------------------------------------------------------------------------ */

/* main.f is renamed; its depth is 0 again from 0x1030 on. */
static void find_crafted(u8 file[CRAFTED_SIZE], struct allocators *out)
{
    AUTO_ELF struct elf_file e = {0};
    memcpy(file + CRAFTED_TABLE + CRAFTED_NAMES + 1, "runtime.semacquire1", 20);
    CHECK_EQ(elf_open_memory(&e, file, CRAFTED_SIZE), 0);
    go_locks_find(&e, out);
    CHECK(go_locks_sound(out, sizeof(*out)));
}

TEST(go_locks_begin_at_the_branch_and_end_at_returns)
{
    u8 file[CRAFTED_SIZE];
    struct allocators a;
    crafted_program(file, GO_1_20);
    find_crafted(file, &a);
    CHECK_EQ(a.n, 0); /* no return: nothing would ever end */
    file[0x1030] = 0xc3;
    find_crafted(file, &a);
    CHECK_EQ(a.n, 2);
    CHECK(a.site[0].offset == 0x1000 && a.site[0].call == XP_GO_WAITS);
    CHECK(a.site[1].offset == 0x1030 && a.site[1].call == XP_GO_ENDS);
    static const u8 OTHER_SHORT[] = {0x49, 0x3b, 0x66, 0x10, 0x76}, OTHER_LONG[] = {0x49, 0x3b, 0x66, 0x10, 0x0f, 0x87};
    memcpy(file + 0x1000, OTHER_SHORT, sizeof(OTHER_SHORT));
    find_crafted(file, &a);
    CHECK_EQ(a.site[0].offset, 0x1004);
    memcpy(file + 0x1000, OTHER_LONG, sizeof(OTHER_LONG)); /* another branch */
    find_crafted(file, &a);
    CHECK_EQ(a.site[0].offset, 0x1000);
}

TEST(go_locks_that_lie_are_refused)
{
    struct allocators a = {.magic = ALLOCATORS_MAGIC, .n = 2, .site = {{16, XP_GO_WAITS}, {17, XP_GO_ENDS}}};
    CHECK(go_locks_sound(&a, sizeof(a)));
    CHECK(!go_locks_sound(&a, sizeof(a) - 1));
    a.site[1].offset = 16;
    CHECK(!go_locks_sound(&a, sizeof(a)));
    a.site[1] = (struct xp_heap_site){17, XP_GO_ENDS + 1};
    CHECK(!go_locks_sound(&a, sizeof(a)));
    a = (struct allocators){.magic = ALLOCATORS_MAGIC, .n = ALLOCATORS_MAX + 1};
    CHECK(!go_locks_sound(&a, sizeof(a)));
    a = (struct allocators){.magic = ALLOCATORS_MAGIC + 1};
    CHECK(!go_locks_sound(&a, sizeof(a)));
}
