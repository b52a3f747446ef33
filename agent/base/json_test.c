#include "base/json.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/test.h"
#include <errno.h>

static int parse(struct json **out, const char *text)
{
    return json_parse(out, text, strlen(text), 1 << 20);
}

TEST(json_values)
{
    CLEANUP(json_free) struct json *j = NULL;
    int64_t n = 0;
    CHECK_EQ(parse(&j, "{\"a\":{\"b.c\":\"x\",\"n\":-7,\"f\":1.5,\"t\":true},\"l\":[1,{\"k\":\"v\"}]}"), 0);
    CHECK_STR(json_get_text(json_get(j, "a"), "b.c"), "x");
    CHECK(json_get_int(json_get(j, "a"), "n", &n) && n == -7);
    CHECK(!json_get_int(json_get(j, "a"), "f", &n) && n == -7);
    CHECK(json_get_bool(json_get(j, "a"), "t", false) && json_get_bool(j, "none", true));
    CHECK_EQ(json_count(json_get(j, "l")), 2);
    CHECK_STR(json_get_text(json_item(json_get(j, "l"), 1), "k"), "v");
    CHECK(!json_item(json_get(j, "l"), 2) && !json_text(json_get(j, "a")));
}

TEST(json_missing_is_null)
{
    CLEANUP(json_free) struct json *j = NULL;
    CHECK_EQ(parse(&j, "{\"a\":{\"b\":{\"c\":\"deep\"}},\"s\":\"text\"}"), 0);
    CHECK_STR(json_text(json_at_path(j, "a.b.c")), "deep");
    CHECK(!json_at_path(j, "a.x.c") && !json_at_path(j, "s.x") && !json_at_path(NULL, "a"));
    CHECK(!json_get(NULL, "a") && !json_get_text(json_get(j, "s"), "x"));
    CHECK_EQ(json_count(NULL), 0);
}

TEST(json_bounds)
{
    CLEANUP(json_free) struct json *j = NULL;
    AUTO_BUF struct buf deep = {0}, flat = {0};
    for (int i = 0; i < JSON_MAX_DEPTH + 1; i++)
        buf_char(&deep, '[');
    for (int i = 0; i < JSON_MAX_DEPTH + 1; i++)
        buf_char(&deep, ']');
    CHECK_EQ(json_parse(&j, deep.data, deep.len, 1 << 20), -ENOSPC);
    CHECK_EQ(json_parse(&j, deep.data + 1, deep.len - 2, 1 << 20), 0);
    json_free(&j);
    buf_str(&flat, "\"");
    for (int i = 0; i < 100; i++)
        buf_str(&flat, "[{\\\"");
    buf_str(&flat, "\"");
    CHECK_EQ(json_parse(&j, flat.data, flat.len, 1 << 20), 0); /* brackets in a string are no depth */
    CHECK_EQ(json_parse(&j, flat.data, flat.len, flat.len - 1), -EMSGSIZE);
    AUTO_BUF struct buf behind = {0};
    buf_str(&behind, "[\"odd\",");
    buf_add(&behind, deep.data + 1, JSON_MAX_DEPTH);
    CHECK_EQ(json_parse(&j, behind.data, behind.len, 1 << 20), -ENOSPC); /* those behind a string are */
}

TEST(json_malformed)
{
    static const char *const bad[] = {"", "{", "{\"a\":1}x", "{\"a\":\"\\u0000\"}", "\"\xff\"", "{'a':1}", "]"};
    CLEANUP(json_free) struct json *j = NULL;
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        CHECK_EQ(parse(&j, bad[i]), -EBADMSG);
    CHECK(!j);
}

static bool first_two(void *ctx, const char *key, const struct json *value)
{
    buf_printf(ctx, "%s=%s;", key, json_text(value));
    return ((struct buf *)ctx)->len < 8;
}

TEST(json_members_in_order)
{
    CLEANUP(json_free) struct json *j = NULL;
    AUTO_BUF struct buf seen = {0};
    CHECK_EQ(parse(&j, "{\"z\":\"1\",\"a\":\"2\",\"m\":\"3\"}"), 0);
    json_members(j, first_two, &seen);
    CHECK_EQ(seen.len, 8);
    CHECK(!memcmp(seen.data, "z=1;a=2;", 8));
    json_members(NULL, first_two, &seen);
    CHECK_EQ(seen.len, 8);
}
