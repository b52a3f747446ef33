/* The readers of JIT maps, on what runtimes write and on what a container may write instead. */
#include "runtime/jit_map.h"
#include "base/cleanup.h"
#include "base/fs.h"
#include "base/test.h"
#include "dwarf/names.h"
#include "runtime/jit_internal.h"
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

struct asked {
    struct buf reply;
    struct names names;
};
static void asked_free(struct asked *a)
{
    buf_free(&a->reply);
}

static int ask_bytes(const void *map, size_t len, const u64 *addresses, size_t n, struct asked *out)
{
    AUTO_CLOSE int fd = fs_sealed_memfd("map", map, len);
    int rc = jit_names(fd, -1, addresses, n, &out->reply);
    return rc ? rc : names_view(out->reply.data, out->reply.len, n, &out->names);
}

static const char *name_of(const struct asked *a, size_t i)
{
    return a->names.strings + a->names.frames[i].name;
}
static const char *file_of(const struct asked *a, size_t i)
{
    return a->names.strings + a->names.frames[i].file;
}

TEST(perf_maps_name_what_they_hold)
{
    static const char map[] =
        "1000 100 first\n"
        "0x2000 0x10 with blanks and 0x\r\n"
        "no entry at all\n"
        "3000 20 replaced\n"
        "3010 20 the later one\n"
        "ffff 0 empty\n"
        "4000 10 not finis";
    const u64 addresses[] = {0xfff, 0x1000, 0x10ff, 0x1100, 0x200f, 0x3000, 0x3010, 0x302f, 0x4000, 0xffff};
    static const char *const want[] = {"",         "first",         "first",         "", "with blanks and 0x",
                                       "replaced", "the later one", "the later one", "", ""};
    CLEANUP(asked_free) struct asked a = {0};
    CHECK_EQ(ask_bytes(map, sizeof(map) - 1, addresses, 10, &a), 0);
    for (size_t i = 0; i < 10; i++)
        CHECK_STR(name_of(&a, i), want[i]);
    CHECK_EQ(a.names.frames[2].start, 0x1000);
    CHECK_EQ(a.names.frames[0].start, 0xfff);
}

/* Symbols from memory are for what the map does not know. */
TEST(perf_maps_are_completed_by_symbols)
{
    static const char map[] = "1000 100 mapped\n", symbols[] = "1000 100 symbol\n2000 100 my::code(int)\n";
    const u64 addresses[] = {0x1010, 0x2010, 0x3010};
    CLEANUP(asked_free) struct asked a = {0};
    AUTO_CLOSE int fd = fs_sealed_memfd("map", map, sizeof(map) - 1);
    AUTO_CLOSE int more = fs_sealed_memfd("symbols", symbols, sizeof(symbols) - 1);
    CHECK_EQ(jit_names(fd, more, addresses, 3, &a.reply), 0);
    CHECK_EQ(names_view(a.reply.data, a.reply.len, 3, &a.names), 0);
    CHECK_STR(name_of(&a, 0), "mapped");
    CHECK_STR(name_of(&a, 1), "my::code(int)");
    CHECK_STR(name_of(&a, 2), "");
    CHECK_EQ(jit_names(fd, 1 << 20, addresses, 3, &a.reply), -EBADF);
}

TEST(perf_maps_are_spelled_as_their_runtimes_do)
{
    static const char map[] =
        "1000 10 LazyCompile:*run /srv/my app/x.js:31:12\n"
        "2000 10 JS:~ file:///srv/y.mjs:1:1\n"
        "3000 10 py::Class.method:/srv/app.py\n"
        "4000 10 Builtin:ArrayMap\n"
        "5000 10 int Main.spin(int)\n"
        "6000 10 Function:^plain\n";
    const u64 addresses[] = {0x1000, 0x2000, 0x3000, 0x4000, 0x5000, 0x6000};
    static const char *const want[] = {"run /srv/my",      "(anonymous)",        "Class.method",
                                       "Builtin:ArrayMap", "int Main.spin(int)", "plain"};
    static const char *const files[] = {"app/x.js", "/srv/y.mjs", "/srv/app.py", "", "", ""};
    CLEANUP(asked_free) struct asked a = {0};
    CHECK_EQ(ask_bytes(map, sizeof(map) - 1, addresses, 6, &a), 0);
    for (size_t i = 0; i < 6; i++) {
        CHECK_STR(name_of(&a, i), want[i]);
        CHECK_STR(file_of(&a, i), files[i]);
    }
    CHECK_EQ(a.names.frames[0].line, 31);
    CHECK_STR(a.names.strings + a.names.frames[2].system_name, "py::Class.method:/srv/app.py");
}

/* The youngest code stands at the end; a hole has no lines, and the end of a line that begins before it is no entry. */
TEST(of_a_perf_map_of_50_gigabytes_the_end_is_read)
{
    static const char old[] = "1000 10 oldest\n", cut[] = "770002000 10 half\n1000 10 youngest\n";
    const off_t size = (off_t)50 << 30;
    const u64 addresses[] = {0x1000, 0x2000};
    AUTO_CLOSE int fd = memfd_create("map", MFD_CLOEXEC);
    CLEANUP(asked_free) struct asked a = {0};
    CHECK_EQ(ftruncate(fd, size), 0);
    CHECK_EQ(pwrite(fd, old, sizeof(old) - 1, 0), sizeof(old) - 1);
    CHECK_EQ(pwrite(fd, cut, sizeof(cut) - 1, size - JIT_MAX_BYTES - (off_t)strlen("77000")), sizeof(cut) - 1);
    CHECK_EQ(jit_names(fd, -1, addresses, 2, &a.reply), 0);
    CHECK_EQ(names_view(a.reply.data, a.reply.len, 2, &a.names), 0);
    CHECK_STR(name_of(&a, 0), "youngest");
    CHECK_STR(name_of(&a, 1), "");
}

/* Entries that overlap a million times cost what the bound allows, and the answer is still one. */
TEST(perf_maps_that_overlap_without_end_are_bounded)
{
    AUTO_BUF struct buf map = {0};
    AUTO_FREE u64 *addresses = calloc(10000, sizeof(u64));
    CLEANUP(asked_free) struct asked a = {0};
    for (u64 i = 0; i < 10000; i++)
        addresses[i] = i;
    for (int i = 0; i < 5000; i++)
        buf_str(&map, "0 ffffffff same\n");
    CHECK_EQ(ask_bytes(map.data, map.len, addresses, 10000, &a), 0);
    CHECK_STR(name_of(&a, 9999), "same");
}

/* ---- jitdump ---------------------------------------------------------------------------------------------------- */

static void put32(struct buf *b, u32 v)
{
    buf_add(b, &v, sizeof(v));
}
static void put64(struct buf *b, u64 v)
{
    buf_add(b, &v, sizeof(v));
}
static void put_header(struct buf *b)
{
    static const u32 words[10] = {0x4a695444, 1, 40, 62};
    buf_add(b, words, sizeof(words));
}
static void put_record(struct buf *b, u32 id, const struct buf *body)
{
    put32(b, id);
    put32(b, (u32)body->len + 16);
    put64(b, 0);
    buf_add(b, body->data, body->len);
}
static void put_code(struct buf *b, u64 at, u32 size, const char *name)
{
    AUTO_BUF struct buf body = {0};
    put64(&body, 0);
    put64(&body, at);
    put64(&body, at);
    put64(&body, size);
    put64(&body, 0);
    buf_add(&body, name, strlen(name) + 1);
    for (u32 i = 0; i < size; i++)
        buf_char(&body, '\x90');
    put_record(b, 0, &body);
}
static void put_line(struct buf *b, u64 at, u32 line, const char *file)
{
    put64(b, at);
    put32(b, line);
    put32(b, 0);
    buf_add(b, file, strlen(file) + 1);
}

TEST(jitdumps_have_names_and_lines)
{
    AUTO_BUF struct buf dump = {0};
    AUTO_BUF struct buf lines = {0};
    AUTO_BUF struct buf move = {0};
    const u64 addresses[] = {0x1000, 0x1023, 0x2000, 0x9004};
    CLEANUP(asked_free) struct asked a = {0};
    put_header(&dump);
    put64(&lines, 0x1000);
    put64(&lines, 2);
    put_line(&lines, 0x1000, 7, "x.lua");
    put_line(&lines, 0x1020, 9, "\xff");
    put_record(&dump, 2, &lines);
    put_code(&dump, 0x1000, 0x40, "hot");
    put_code(&dump, 0x2000, 0x10, "other");
    for (int i = 0; i < 2; i++)
        put64(&move, 0);
    put64(&move, 0x2000);
    put64(&move, 0x9000);
    put64(&move, 0x10);
    put64(&move, 0);
    put_record(&dump, 1, &move);
    put32(&dump, 0);
    put32(&dump, 4000); /* a record that is still being written */
    CHECK_EQ(ask_bytes(dump.data, dump.len, addresses, 4, &a), 0);
    CHECK_STR(name_of(&a, 0), "hot");
    CHECK_STR(file_of(&a, 0), "x.lua");
    CHECK_EQ(a.names.frames[0].line, 7);
    CHECK_EQ(a.names.frames[1].line, 9);
    CHECK_STR(file_of(&a, 1), "x.lua");
    CHECK_STR(name_of(&a, 2), "other");
    CHECK_EQ(a.names.frames[2].line, 0);
    CHECK_STR(name_of(&a, 3), "other");
}

/* Lines may stand in any order, of two for one address the later one counts; what lies behind their record is none. */
TEST(lines_of_a_jitdump_are_those_of_their_record)
{
    AUTO_BUF struct buf dump = {0};
    AUTO_BUF struct buf lines = {0};
    AUTO_BUF struct buf other = {0};
    const u64 addresses[] = {0x1000, 0x1023};
    CLEANUP(asked_free) struct asked a = {0};
    put_header(&dump);
    put64(&lines, 0x1000);
    put64(&lines, 5); /* two more than there are */
    put_line(&lines, 0x1020, 9, "x.lua");
    put_line(&lines, 0x1000, 6, "x.lua");
    put_line(&lines, 0x1000, 7, "x.lua");
    put_record(&dump, 2, &lines);
    buf_char(&other, 0);
    put_line(&other, 0x1000, 99, "y.lua");
    put_record(&dump, 77, &other);
    put_code(&dump, 0x1000, 0x40, "hot");
    CHECK_EQ(ask_bytes(dump.data, dump.len, addresses, 2, &a), 0);
    CHECK_EQ(a.names.frames[0].line, 7);
    CHECK_EQ(a.names.frames[1].line, 9);
}

static u32 line_of(const struct asked *a, size_t i)
{
    return a->names.frames[i].line;
}

/* Lines are of the code that follows, not of what comes behind it; a record without lines has none of the one before.
 */
TEST(lines_of_a_jitdump_are_of_one_function)
{
    AUTO_BUF struct buf dump = {0}, lines = {0}, none = {0};
    const u64 addresses[] = {0x1000, 0x2000, 0x3000};
    CLEANUP(asked_free) struct asked a = {0};
    put_header(&dump);
    put64(&lines, 0x1000);
    put64(&lines, 1);
    put_line(&lines, 0x0, 5, "x.lua"); /* below all */
    put_record(&dump, 2, &lines);
    put_code(&dump, 0x2000, 0x10, "other"); /* not the one that was announced */
    put_code(&dump, 0x1000, 0x10, "late");
    put_record(&dump, 2, &lines);
    put64(&none, 0x3000);
    put64(&none, 0);
    put_record(&dump, 2, &none);
    put_code(&dump, 0x3000, 0x10, "bare");
    CHECK_EQ(ask_bytes(dump.data, dump.len, addresses, 3, &a), 0);
    CHECK(line_of(&a, 0) == 0 && line_of(&a, 1) == 0 && line_of(&a, 2) == 0);
    CHECK_STR(name_of(&a, 0), "late");
    CHECK_STR(name_of(&a, 2), "bare");
}

/* V8 counts from the ELF header that perf would put in front; its names know the file better. */
TEST(lines_of_v8_are_counted_from_elsewhere)
{
    AUTO_BUF struct buf dump = {0}, lines = {0};
    const u64 addresses[] = {0x1000, 0x1010};
    CLEANUP(asked_free) struct asked a = {0};
    put_header(&dump);
    put64(&lines, 0x1000);
    put64(&lines, 2);
    put_line(&lines, 0x1040, 7, "freed");
    put_line(&lines, 0x1050, 8, "freed");
    put_record(&dump, 2, &lines);
    put_code(&dump, 0x1000, 0x40, "LazyCompile:*run /app/x.js:3:12");
    CHECK_EQ(ask_bytes(dump.data, dump.len, addresses, 2, &a), 0);
    CHECK(line_of(&a, 0) == 7 && line_of(&a, 1) == 8);
    CHECK_STR(file_of(&a, 0), "/app/x.js");
}

/* Code that moves is known where it is now, from its new beginning on; what nobody knew stays unknown. */
TEST(code_of_a_jitdump_moves)
{
    AUTO_BUF struct buf dump = {0}, move = {0}, unknown = {0};
    const u64 addresses[] = {0x2000, 0x8fff, 0x9000, 0x900f, 0x9010, 0xa000};
    CLEANUP(asked_free) struct asked a = {0};
    put_header(&dump);
    put_code(&dump, 0x2000, 0x10, "moving");
    const u64 from_to[] = {0, 0, 0x2000, 0x9000, 0x10, 0}, other[] = {0, 0, 0x1ff0, 0xa000, 0x20, 0};
    buf_add(&move, from_to, sizeof(from_to));
    put_record(&dump, 1, &move);
    buf_add(&unknown, other, sizeof(other)); /* begins where no code did */
    put_record(&dump, 1, &unknown);
    CHECK_EQ(ask_bytes(dump.data, dump.len, addresses, 6, &a), 0);
    static const char *const want[] = {"moving", "", "moving", "moving", "", ""};
    for (size_t i = 0; i < 6; i++)
        CHECK_STR(name_of(&a, i), want[i]);
    CHECK(a.names.frames[0].start == 0x2000 && a.names.frames[2].start == 0x9000 && a.names.frames[3].start == 0x9000);
}

/* More than is read at once: records whose heads and names lie across the border. */
TEST(jitdumps_of_several_pieces_are_read_to_their_end)
{
    enum { CODES = 3000, SAMPLES = 300, SIZE = 300 };
    AUTO_BUF struct buf dump = {0};
    CLEANUP(asked_free) struct asked a = {0};
    u64 addresses[SAMPLES];
    char name[32];
    put_header(&dump);
    for (u64 i = 0; i < CODES; i++) {
        snprintf(name, sizeof(name), "function_%u", (unsigned)i);
        put_code(&dump, 0x10000 + SIZE * i, SIZE, name);
    }
    CHECK(dump.len > 3 * (256 << 10));
    for (u64 i = 0; i < SAMPLES; i++)
        addresses[i] = 0x10000 + SIZE * (i * (CODES / SAMPLES) + 9) + SIZE - 1;
    CHECK_EQ(ask_bytes(dump.data, dump.len, addresses, SAMPLES, &a), 0);
    for (unsigned i = 0; i < SAMPLES; i++) {
        snprintf(name, sizeof(name), "function_%u", i * (CODES / SAMPLES) + 9);
        CHECK_STR(name_of(&a, i), name);
    }
}

TEST(crafted_jitdumps_end)
{
    AUTO_BUF struct buf dump = {0};
    const u64 address = 0x1000;
    CLEANUP(asked_free) struct asked a = {0};
    put_header(&dump);
    put32(&dump, 0);
    put32(&dump, 0); /* a record of no length */
    put64(&dump, 0);
    CHECK_EQ(ask_bytes(dump.data, dump.len, &address, 1, &a), 0);
    CHECK_STR(name_of(&a, 0), "");
    CHECK_EQ(jit_names(-1, -1, &address, 1, &a.reply), -EBADF);
}

/* It is read in pieces, whose ends are in the middle of lines. */
TEST(perf_maps_of_several_pieces_are_read_to_their_end)
{
    enum { LINES = 40000, SAMPLES = 400 };
    AUTO_BUF struct buf map = {0};
    CLEANUP(asked_free) struct asked a = {0};
    u64 addresses[SAMPLES];
    for (u64 i = 0; i < LINES; i++)
        buf_printf(&map, "%llx 10 function_%llu\n", 0x10000 + 16 * (unsigned long long)i, (unsigned long long)i);
    CHECK(map.len > 3 * (256 << 10));
    for (u64 i = 0; i < SAMPLES; i++)
        addresses[i] = 0x10000 + 16 * i * (LINES / SAMPLES) + 5;
    CHECK_EQ(ask_bytes(map.data, map.len, addresses, SAMPLES, &a), 0);
    for (u64 i = 0; i < SAMPLES; i++) {
        char expected[32];
        snprintf(expected, sizeof(expected), "function_%llu", (unsigned long long)i * (LINES / SAMPLES));
        CHECK_STR(name_of(&a, i), expected);
    }
}
