/* Names as runtimes spell them, addresses in ranges, and lines of text maps that are none. */
#include "base/cleanup.h"
#include "base/fs.h"
#include "base/test.h"
#include "dwarf/names.h"
#include "runtime/jit_internal.h"
#include "runtime/jit_map.h"
#include <errno.h>
#include <fcntl.h>

TEST(jit_spellings)
{
    static const struct {
        const char *whole, *name, *file;
        u32 line;
        bool v8;
    } cases[] = {
        {"LazyCompile:*run /app/x.js:3:12", "run", "/app/x.js", 3, true},
        {"Script:~ file:///a:1:2", "(anonymous)", "/a", 1, true},
        {"Eval:f x:4294967295:1", "f", "x", 0, true},
        {"Eval:f x:2147483647:1", "f", "x", 2147483647, true},
        {"InterpretedFunction:^'1+f", "f", "", 0, true},
        {"JS:nowhere:1:2", "nowhere:1:2", "", 0, true}, /* no blank */
        {"JS:f x:1", "f x:1", "", 0, true},             /* no column */
        {"JS:f x:y:2", "f x:y:2", "", 0, true},
        {"JS:f 1:2", "f 1:2", "", 0, true},
        {"JS:", "(anonymous)", "", 0, true},
        {"py::f:/a.py", "f", "/a.py", 0, false},
        {"py::f", "py::f", "", 0, false},
        {"py:f:/a.py", "py:f:/a.py", "", 0, false},
        {"", "(anonymous)", "", 0, false},
        {"J", "J", "", 0, false},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct jit_spelling s = jit_spell(cases[i].whole, strlen(cases[i].whole));
        CHECK(s.len == strlen(cases[i].name) && !memcmp(s.name, cases[i].name, s.len));
        CHECK(s.file_len == strlen(cases[i].file) && (!s.file_len || !memcmp(s.file, cases[i].file, s.file_len)));
        CHECK_EQ(s.line, cases[i].line);
        CHECK_EQ(s.v8, cases[i].v8);
    }
}

TEST(jit_ranges)
{
    const u64 addresses[] = {0x10, 0x20, 0x20, 0x30, ~0ull - 1};
    const struct jit_query q = {.addresses = addresses, .n = 5};
    static const struct {
        u64 start, size;
        size_t first, n;
    } cases[] = {{0, 0x10, 0, 0}, {0, 0x11, 0, 1}, {0x10, 0x11, 0, 3},  {0x11, 0x1f, 1, 2},
                 {0x20, 0, 1, 0}, {0x31, 5, 4, 0}, {0x21, ~0ull, 3, 2}, {~0ull, ~0ull, 5, 0}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        size_t first = 99;
        CHECK_EQ(jit_range(&q, cases[i].start, cases[i].size, &first), cases[i].n);
        CHECK_EQ(first, cases[i].first);
    }
}

/* The name that a text map has for an address; "-": it cannot be read. */
static const char *name_in(const char *map, u64 address, char name[64])
{
    AUTO_BUF struct buf reply = {0};
    struct names v;
    AUTO_CLOSE int fd = fs_sealed_memfd("map", map, strlen(map));
    if (jit_names(fd, -1, &address, 1, &reply) || names_view(reply.data, reply.len, 1, &v))
        return "-";
    snprintf(name, 64, "%s", v.strings + v.frames[0].name);
    return name;
}

TEST(perf_maps_with_numbers_that_are_none)
{
    static const char *const lines[] = {
        "1000 10\n",
        "1000 10 \n",
        "g 10 x\n",
        "1000 g x\n",
        "1000\n",
        " 1000 10 x\n",
        "0x 10 x\n",
        "1000 0x x\n",
        "1000,10 x\n",
        "1000 10,x\n",
        "00000000000001000 10 x\n",
        "1000 10 x",
        "1000  10  \r\n",
    };
    char name[64];
    for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++)
        CHECK_STR(name_in(lines[i], 0x1000, name), "");
    CHECK_STR(name_in("0X00001aBf  0x1   a  b \r\n", 0x1abf, name), "a  b ");
    CHECK_STR(name_in("00000000000010fa 1 x\n", 0x10fa, name), "x");
}

TEST(maps_that_cannot_be_read)
{
    AUTO_BUF struct buf reply = {0};
    AUTO_CLOSE int fd = open("/", O_RDONLY | O_CLOEXEC);
    const u64 address = 0x1000;
    CHECK_EQ(jit_names(fd, -1, &address, 1, &reply), -EISDIR);
    CHECK_EQ(jit_names(fd, -1, &address, (1u << 20) + 1, &reply), -E2BIG);
    CHECK_EQ(reply.len, 0);
}
