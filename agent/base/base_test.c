#include "base/buf.h"
#include "base/cursor.h"
#include "base/log.h"
#include "base/map.h"
#include "base/queue.h"
#include "base/test.h"
#include "base/utf8.h"
#include <errno.h>

TEST(cursor_stays_inside)
{
    const uint8_t bytes[] = {1, 2, 3};
    struct cursor c = cursor_of(bytes, sizeof(bytes));
    CHECK_EQ(cursor_u16(&c), 0x0201);
    CHECK_EQ(cursor_u16(&c), 0);
    CHECK(c.bad);
    CHECK_EQ(c.pos, 2);
    CHECK_EQ(cursor_u8(&c), 0); /* errors are sticky: the third byte is not handed out after one */
}

TEST(cursor_leb128)
{
    const uint8_t u[] = {0xe5, 0x8e, 0x26}, s[] = {0x80, 0x7f},
                  endless[] = {0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0};
    struct cursor c = cursor_of(u, sizeof(u));
    CHECK_EQ(cursor_uleb(&c), 624485);
    c = cursor_of(s, sizeof(s));
    CHECK_EQ(cursor_sleb(&c), -128);
    c = cursor_of(u, 2);
    CHECK_EQ(cursor_uleb(&c), 0);
    CHECK(c.bad);
    c = cursor_of(endless, sizeof(endless));
    cursor_uleb(&c);
    CHECK(c.bad);
}

TEST(cursor_string_needs_its_nul)
{
    struct cursor c = cursor_of("ab\0cd", 5);
    CHECK_STR(cursor_str(&c), "ab");
    CHECK(!cursor_str(&c));
    CHECK(c.bad);
}

TEST(map_holds_what_was_put)
{
    struct map m = {0};
    for (uint64_t k = 0; k < 5000; k++)
        *map_put(&m, k * 7919) = k + 1;
    for (uint64_t k = 0; k < 5000; k++)
        CHECK_EQ(*map_get(&m, k * 7919), k + 1);
    CHECK(!map_get(&m, 3));
    CHECK_EQ(m.n, 5000);
    map_free(&m);
}

/* Keys next to each other, so that many of them are not where they would like to be. */
TEST(map_loses_what_was_removed_and_nothing_else)
{
    struct map m = {0};
    map_remove(&m, 1);
    for (uint64_t k = 0; k < 3000; k++)
        *map_put(&m, k) = k + 1;
    for (uint64_t k = 0; k < 3000; k += 3)
        map_remove(&m, k);
    map_remove(&m, 0); /* again */
    CHECK_EQ(m.n, 2000);
    for (uint64_t k = 0; k < 3000; k++) {
        uint64_t *v = map_get(&m, k);
        CHECK(k % 3 ? v && *v == k + 1 : !v);
    }
    for (uint64_t k = 0; k < 3000; k++)
        map_remove(&m, k);
    CHECK_EQ(m.n, 0);
    size_t cap = m.cap;
    for (uint64_t k = 0; k < 100000; k++) { /* what comes and goes needs no more room */
        *map_put(&m, k) = k;
        map_remove(&m, k);
    }
    CHECK_EQ(m.cap, cap);
    map_free(&m);
}

TEST(buf_json_escapes)
{
    AUTO_BUF struct buf b = {0};
    buf_json(&b, "a\"\\\n\xff</script>\xc3\xa4");
    CHECK_STR(b.data, "\"a\\\"\\\\\\u000a\xef\xbf\xbd\\u003c/script>\xc3\xa4\"");
}

/* A buffer that could not grow stays as it was: its end is checked once, by whoever filled it. */
TEST(buf_that_failed_takes_nothing)
{
    AUTO_BUF struct buf b = {0};
    buf_str(&b, "abc");
    b.failed = true;
    buf_str(&b, "d");
    buf_printf(&b, "%d", 1);
    CHECK_STR(b.data, "abc");
    CHECK_EQ(b.len, 3);
}

TEST(utf8_refuses_overlong_and_surrogates)
{
    CHECK_EQ(utf8_len("\xc0\xaf", 2), 0);
    CHECK_EQ(utf8_len("\xed\xa0\x80", 3), 0);
    CHECK_EQ(utf8_len("\xf4\x90\x80\x80", 4), 0);
    CHECK_EQ(utf8_len("\xe2\x82\xac", 3), 3);
    CHECK_EQ(utf8_len("\xe2\x82", 2), 0);
}

TEST(utf8_puts_characters_of_every_length)
{
    static const uint32_t first[] = {0, 0x80, 0x800, 0x10000}, last[] = {0x7f, 0x7ff, 0xffff, 0x10ffff};
    static const char *const texts[] = {"\x7f", "\xdf\xbf", "\xef\xbf\xbf", "\xf4\x8f\xbf\xbf"};
    char bytes[4];
    for (size_t n = 1; n <= 4; n++) {
        CHECK_EQ(utf8_put(first[n - 1], bytes), n);
        CHECK_EQ(utf8_len(bytes, n), n);
        CHECK_EQ(utf8_put(last[n - 1], bytes), n);
        CHECK(!memcmp(bytes, texts[n - 1], n));
    }
}

TEST(queue_is_bounded_and_ordered)
{
    struct queue *q = NULL;
    CHECK_EQ(queue_new(&q, 2), 0);
    int a, b, c;
    CHECK_EQ(queue_put(q, &a), 0);
    CHECK_EQ(queue_put(q, &b), 0);
    CHECK_EQ(queue_put(q, &c), -ENOSPC);
    CHECK(queue_get(q, 0) == &a);
    CHECK(queue_get(q, 10) == &b);
    CHECK(!queue_get(q, 1));
    queue_close(q);
    CHECK(!queue_get(q, -1));
    queue_free(&q);
}

TEST(log_cleans_terminal_controls)
{
    char text[] = "a\033[31mb\n\x7f\xc2\x9b\xc3\xa4\xc3\x84\xc2\xa0";
    log_clean(text);
    CHECK_STR(text, "a?[31mb???\x9b\xc3\xa4\xc3\x84\xc2\xa0");
}
