#include "proc/memory.h"
#include "base/cleanup.h"
#include "base/fs.h"
#include "base/test.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>

static bool parse(const char *line, struct mapping *out)
{
    return mapping_parse(line, line + strlen(line), out);
}

TEST(mappings_of_no_file_are_plain)
{
    static const char *const plain[] = {"",
                                        "[heap]",
                                        "[anon: jit]",
                                        "[anon_shmem:x]",
                                        "/memfd:code (deleted)",
                                        "/dev/zero (deleted)",
                                        "/anon_hugepage (deleted)",
                                        "/SYSV00000000 (deleted)"};
    static const char *const other[] = {"[stack]", "[vdso]", "[vvar]", "/usr/lib/x.so", "/memfd", "[ano"};
    struct mapping m;
    char line[128];
    for (size_t i = 0; i < sizeof(plain) / sizeof(*plain); i++) {
        snprintf(line, sizeof(line), "7f00-8f00 r-xp 00001000 00:00 0      %s", plain[i]);
        CHECK(parse(line, &m) && m.plain && m.read && !m.write && m.exec);
        CHECK(m.start == 0x7f00 && m.end == 0x8f00 && m.offset == 0x1000);
    }
    for (size_t i = 0; i < sizeof(other) / sizeof(*other); i++) {
        snprintf(line, sizeof(line), "7f00-8f00 rw-p 00000000 00:00 0      %s", other[i]);
        CHECK(parse(line, &m) && !m.plain && m.write && !m.exec);
    }
}

TEST(mappings_that_are_none_are_refused)
{
    static const char *const bad[] = {"",
                                      "-",
                                      "7f00",
                                      "7f00-",
                                      "7f00-7f00 r--p 0 0 0 ",
                                      "8f00-7f00 r--p 0 0 0 ",
                                      "7f00-8f00 r",
                                      "7f00-8f00 r--p",
                                      "x-8f00 r--p 0 0 0 ",
                                      "11111111111111111-8f00 r--p 0 0 0 "};
    struct mapping m;
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        CHECK(!parse(bad[i], &m));
}

TEST(memory_is_read_up_to_a_limit)
{
    static const char text[] =
        "1000-2000 r-xp 00000000 00:00 0 \n"
        "1800-2800 r-xp 00000000 00:00 0 \n" /* impossible: left out */
        "3000-4000 r-xp 00000000 00:00 0 \n"
        "5000-6000 r-xp 00000000 0";
    CLEANUP(memory_free) struct memory m = {0};
    AUTO_CLOSE int maps = fs_sealed_memfd("maps", text, sizeof(text) - 1);
    AUTO_CLOSE int mem = fs_sealed_memfd("mem", text, sizeof(text) - 1);
    char some[8];
    CHECK_EQ(memory_open(&m, mem, maps), 0);
    CHECK_EQ(m.maps.n, 2);
    CHECK(memory_mapping(&m, 0x1fff) == &m.maps.v[0] && memory_mapping(&m, 0x3000) == &m.maps.v[1]);
    CHECK(!memory_mapping(&m, 0x2000) && !memory_mapping(&m, 0xfff) && !memory_mapping(&m, 0x4000));
    CHECK(memory_read(&m, 4, some, sizeof(some)) && !memcmp(some, text + 4, sizeof(some)));
    CHECK(!memory_read(&m, sizeof(text) - 4, some, sizeof(some)));
    CHECK(!memory_read(&m, ~0ull - 2, some, sizeof(some)));
    m.left = 7;
    CHECK(!memory_read(&m, 4, some, sizeof(some)));
    CHECK(memory_read(&m, 4, some, 7));
    memory_free(&m);
    CHECK_EQ(memory_open(&m, mem, mem + 1000), -EBADF);
    CHECK(memory_open(&m, mem, -1) == 0 && m.maps.n == 0);
}

TEST(pages_of_memory_are_kept_until_they_are_forgotten)
{
    static char text[3 * MEMORY_PAGE / 2];
    CLEANUP(memory_free) struct memory m = {0};
    AUTO_CLOSE int mem = memfd_create("mem", MFD_CLOEXEC);
    char some[16];
    memset(text, 'a', sizeof(text) - 1);
    CHECK_EQ(fs_write_all(mem, text, sizeof(text)), 0);
    CHECK_EQ(memory_open(&m, mem, -1), 0);
    u64 before = m.left;
    CHECK(memory_near(&m, MEMORY_PAGE - 8, some, sizeof(some)) && !memcmp(some, text, sizeof(some)));
    CHECK(before - m.left > 2 * MEMORY_PAGE && before - m.left < 3 * MEMORY_PAGE);
    CHECK_EQ(pwrite(mem, "b", 1, 0), 1);
    CHECK(memory_near(&m, 0, some, 1) && some[0] == 'a');
    memory_forget(&m);
    CHECK(memory_near(&m, 0, some, 1) && some[0] == 'b');
    CHECK(!memory_near(&m, sizeof(text) - 4, some, 5) && memory_near(&m, sizeof(text) - 4, some, 4));
    CHECK(!memory_near(&m, ~0ull - 2, some, sizeof(some)));
    CHECK(memory_text(&m, sizeof(text) - 4, some, 4) && !strcmp(some, "aaa"));
    CHECK(!memory_text(&m, sizeof(text) - 4, some, 3) && !memory_text(&m, sizeof(text), some, 4));
    m.left = MEMORY_PAGE - 1;
    memory_forget(&m);
    CHECK(!memory_near(&m, 0, some, 1));
}
