/* Sections with CFI are found by their structure, and what only looks like one is not. */
#include "base/test.h"
#include "generated/made_test.h"
#include "generated/sections.h"
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define CODE 0x10000ull /* of 64 KiB */
#define AT   0x20000ull

static void world(struct memory *m)
{
    static struct mapping maps[] = {{.start = CODE, .end = CODE + 0x10000, .read = true, .exec = true, .plain = true},
                                    {.start = 0x40000, .end = 0x50000, .read = true, .exec = true}};
    *m = (struct memory){.fd = -1};
    m->maps.v = maps;
    m->maps.n = 2;
}

/* Where a section was found in these bytes, and its length; -1: nowhere. */
static long find(const struct buf *b, size_t *len)
{
    struct memory m;
    size_t pos = 0;
    u64 steps = 1000;
    world(&m);
    *len = sections_next(&m, AT, (const u8 *)b->data, b->len, &pos, &steps);
    return *len ? (long)pos : -1;
}

TEST(search_finds_a_section_among_other_things)
{
    AUTO_BUF struct buf b = {0};
    size_t len, cie;
    for (int i = 0; i < 1000; i++)
        buf_add(&b, &i, sizeof(i));
    cie = b.len;
    made_cie(&b);
    made_fde(&b, AT, cie, CODE, CODE + 64, 1);
    made_fde(&b, AT, cie, CODE + 64, CODE + 128, 1);
    size_t end = b.len;
    buf_add(&b, "\0\0\0\0\xff\xff\xff\xff", 8);
    CHECK_EQ(find(&b, &len), (long)cie);
    CHECK_EQ(len, end - cie);
}

TEST(search_finds_a_section_without_terminator)
{
    AUTO_BUF struct buf b = {0};
    size_t len;
    made_cie(&b);
    made_fde(&b, AT, 0, CODE, CODE + 64, 1);
    size_t end = b.len;
    buf_add(&b, "\xff\xff\xff\x7f", 4);
    CHECK_EQ(find(&b, &len), 0);
    CHECK_EQ(len, end);
}

/* An FDE with one thing wrong. */
static long find_fde(size_t cie, u64 start, u64 end)
{
    AUTO_BUF struct buf b = {0};
    size_t len;
    made_cie(&b);
    made_fde(&b, AT, cie, start, end, 1);
    return find(&b, &len);
}

TEST(search_believes_only_what_is_about_generated_code)
{
    CHECK_EQ(find_fde(0, CODE, CODE + 64), 0);
    CHECK_EQ(find_fde(4, CODE, CODE + 64), -1);           /* there is no CIE */
    CHECK_EQ(find_fde(0, CODE - 8, CODE + 64), -1);       /* begins before the code */
    CHECK_EQ(find_fde(0, CODE, CODE + 0x10001), -1);      /* ends behind it */
    CHECK_EQ(find_fde(0, CODE, CODE), -1);                /* empty */
    CHECK_EQ(find_fde(0, 0x40000, 0x40040), -1);          /* code of a file */
    CHECK_EQ(find_fde(0, 0x30000, 0x30040), -1);          /* nothing is there */
    CHECK_EQ(find_fde((size_t)-64, CODE, CODE + 64), -1); /* before the start of the memory */
}

/* Whatever one byte says, nothing outside of the bytes is read (ASan). */
TEST(search_survives_any_byte)
{
    AUTO_BUF struct buf b = {0};
    size_t len;
    made_cie(&b);
    made_fde(&b, AT, 0, CODE, CODE + 64, 1);
    for (size_t i = 0; i < b.len; i++)
        for (int v = 0; v < 256; v += 3) {
            AUTO_BUF struct buf copy = {0};
            buf_add(&copy, b.data, b.len);
            copy.data[i] = (char)v;
            find(&copy, &len);
        }
    for (size_t cut = 0; cut < b.len; cut++) {
        AUTO_FREE u8 *part = malloc(cut + 1);
        struct memory m;
        size_t pos = 0;
        world(&m);
        memcpy(part, b.data, cut);
        u64 steps = 1000;
        sections_next(&m, AT, part, cut, &pos, &steps);
        CHECK(pos <= cut + 3);
    }
}

/* Each of them begins a chain to the end. */
TEST(search_follows_a_limited_number_of_entries)
{
    static const u8 cie[16] = {12, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0x78, 16, 0, 0, 0};
    static u8 bytes[16 * 1000];
    struct memory m;
    world(&m);
    for (size_t i = 0; i < sizeof(bytes); i += sizeof(cie))
        memcpy(bytes + i, cie, sizeof(cie));
    size_t pos = 0;
    u64 steps = 100000;
    CHECK_EQ(sections_next(&m, AT, bytes, sizeof(bytes), &pos, &steps), 0);
    CHECK_EQ(steps, 0); /* half a million without the limit */
    CHECK_EQ(pos, sizeof(bytes));
}

/* In this process: read-only memory first, the nearest first, and no more than so much. */
TEST(search_reads_memory_beside_the_code)
{
    AUTO_MADE made = {0};
    AUTO_BUF struct buf b = {0};
    CLEANUP(memory_free) struct memory m = {0};
    CLEANUP(sections_free) struct sections s = {0};
    CHECK_EQ(made_new(&made), 0);
    made_section(&b, (u64)made.data + 32, made.code, 0);
    memcpy(made.data + 32, b.data, b.len);
    AUTO_CLOSE int mem = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
    AUTO_CLOSE int maps = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    CHECK_EQ(memory_open(&m, mem, maps), 0);
    sections_search(&s, &m);
    bool found = false;
    for (size_t i = 0; i < s.list.n; i++)
        found |= s.list.v[i].at == (u64)made.data + 32;
    CHECK(found);
    CHECK(m.left >= (256u << 20) - (24u << 20));
}

/* Where memory is looked through in pieces, a section lies in two of them. */
TEST(search_finds_a_section_across_pieces)
{
    size_t size = 1 << 20, edge = 256 << 10;
    AUTO_CLOSE int mem = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
    AUTO_CLOSE int maps = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    AUTO_MADE made = {0};
    CHECK_EQ(made_new(&made), 0);
    u8 *data = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(data != MAP_FAILED);
    for (size_t before = 4; before < 128; before += 12) {
        AUTO_BUF struct buf b = {0};
        CLEANUP(memory_free) struct memory m = {0};
        CLEANUP(sections_free) struct sections s = {0};
        made_section(&b, (u64)data + edge - before, made.code, 0);
        mprotect(data, size, PROT_READ | PROT_WRITE);
        memset(data + edge - 256, 0, 512);
        memcpy(data + edge - before, b.data, b.len);
        mprotect(data, size, PROT_READ);
        lseek(maps, 0, SEEK_SET);
        CHECK_EQ(memory_open(&m, mem, maps), 0);
        sections_search(&s, &m);
        bool found = false;
        for (size_t i = 0; i < s.list.n; i++)
            found |= s.list.v[i].at == (u64)data + edge - before;
        CHECK(found);
    }
    munmap(data, size);
}
