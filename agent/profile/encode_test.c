#include "profile/encode.h"
#include "base/utf8.h"
#include "profile/fixture_test.h"
#include "profile/text.h"

#define AUTO_PROFILE __attribute__((cleanup(profile_free)))
#define COUNT(a)     (sizeof(a) / sizeof((a)[0]))

static bool is_utf8(const char *s, size_t n)
{
    for (size_t i = 0, len; i < n; i += len)
        if (!(len = utf8_len(s + i, n - i)))
            return false;
    return true;
}

TEST(encoder_by_suffix)
{
    CHECK_STR(encoder_for_path("a/out.pb.gz")->name, "pprof");
    CHECK_STR(encoder_for_path("x.folded")->name, "collapsed");
    CHECK_STR(encoder_for_path("x.collapsed")->name, "collapsed");
    CHECK_STR(encoder_for_path("x.gecko.json.gz")->name, "gecko");
    CHECK(encoder_gzips("x.svg.gz", NULL) && encoder_gzips("x.json.gz", NULL) && encoder_gzips("x.gz", "svg"));
    CHECK(!encoder_gzips("x.pb.gz", NULL) && !encoder_gzips("x.gz", "pprof") && !encoder_gzips("x.svg", NULL));
    CHECK(!encoder_for_path("x.gz"));
    CHECK(!encoder_for_path("x.txt"));
    CHECK(!encoder_for_path(".pb.gz"));
    CHECK(!encoder_for_path(""));
    CHECK(!encoder_by_name("nonsense"));
    size_t n;
    const struct encoder *all = encoders(&n);
    for (size_t i = 0; i < n; i++) {
        char path[64];
        snprintf(path, sizeof(path), "dir.d/x%s", all[i].suffix);
        CHECK(encoder_for_path(path) == &all[i]);
        CHECK(encoder_by_name(all[i].name) == &all[i]);
        if (all[i].also) {
            snprintf(path, sizeof(path), "dir.d/x%s", all[i].also);
            CHECK(encoder_for_path(path) == &all[i]);
        }
    }
}

static const struct fixture_sample PLAIN[] = {
    {"demo",
     20,
     0,
     XP_CAUSE_END,
     10000000,
     2,
     3,
     {W_KERNEL(0x3010), W_KERNEL(0x1010), W_LEAF(2, 0x3010), W(2, 0x2105), W(2, 0x1010)}},
    {"demo", 20, 0, XP_CAUSE_END, 10000000, 0, 2, {W_LEAF(2, 0x3010), W(2, 0x1010)}},
    {"demo", 21, 0, XP_CAUSE_END, 10000000, 0, 2, {W_LEAF(2, 0x3020), W(2, 0x1020)}},
    {"demo", 20, 0, XP_CAUSE_NO_RULE, 10000000, 0, 2, {W_LEAF(2, 0x3010), W(2, 0x1010)}},
    {"alpha", 19, 0, XP_CAUSE_END, 10000000, 0, 1, {W_LEAF(3, 0x1010)}},
    {"demo", 20, 1, XP_CAUSE_END, 7, 0, 1, {W_LEAF(2, 0x1010)}}, /* of another event only */
    {"zero", 22, 0, XP_CAUSE_END, 0, 0, 1, {W_LEAF(2, 0x1010)}}, /* without a value */
};

TEST(collapsed_lines)
{
    AUTO_PROFILE struct profile p = {0};
    CHECK_EQ(fixture_profile(PLAIN, COUNT(PLAIN), &p), 0);
    AUTO_BUF struct buf b = {0};
    CHECK_EQ(encoder_by_name("collapsed")->encode(&p, &b), 0);
    CHECK_STR(b.data,
              "alpha;[libplain.so.1+0x1000] 10000000\n"
              "demo;[cut: no-rule];main;leaf 10000000\n"
              "demo;main;leaf 20000000\n" /* of two processes of one name */
              "demo;main;outer;inner;leaf;do_syscall_64_[k];vfs_read_[k] 10000000\n");
}

TEST(collapsed_hostile_names)
{
    AUTO_PROFILE struct profile p = {0};
    CHECK_EQ(fixture_hostile(&p), 0);
    AUTO_BUF struct buf b = {0};
    CHECK_EQ(encoder_by_name("collapsed")->encode(&p, &b), 0);
    CHECK(is_utf8(b.data, b.len));
    size_t lines = 0;
    for (const char *s = b.data; *s; lines++) {
        const char *end = strchr(s, '\n');
        CHECK(end);
        const char *space = memrchr(s, ' ', (size_t)(end - s));
        CHECK(space && strspn(space + 1, "0123456789") == (size_t)(end - space - 1));
        s = end + 1;
    }
    CHECK_EQ(lines, 5);
    CHECK(strstr(b.data, ";semi:colon new line  tab  [31m;"));
    CHECK(strstr(b.data, "evil:\"</script>;LLLL"));
    CHECK(strstr(b.data, "\n\xef\xbf\xbd\xef\xbf\xbd ;[cut: no-rule];semi:colon"));
    CHECK(!strchr(b.data, '\x1b'));
}

TEST(top_table)
{
    AUTO_PROFILE struct profile p = {0};
    const struct fixture_sample s[] = {
        {"demo",
         20,
         0,
         XP_CAUSE_END,
         30000000,
         0,
         4,
         {W_LEAF(2, 0x3010), W(2, 0x1010), W(2, 0x1020), W(2, 0x1030)}}, /* main recurs: counted once */
        {"demo", 20, 0, XP_CAUSE_END, 10000000, 0, 1, {W_LEAF(2, 0x1010)}},
    };
    CHECK_EQ(fixture_profile(s, COUNT(s), &p), 0);
    AUTO_BUF struct buf b = {0}, one = {0};
    CHECK_EQ(encode_top(&p, 10, &b), 0);
    const char *leaf = strstr(b.data, "\n 75.00 %       30.0 ms   75.00 %  leaf  ");
    const char *main_row = strstr(b.data, "\n 25.00 %       10.0 ms  100.00 %  main  ");
    CHECK(leaf && main_row && leaf < main_row);
    CHECK(strstr(leaf, "  demo\n"));
    CHECK_EQ(encode_top(&p, 1, &one), 0);
    CHECK(!strstr(one.data, "main"));
}

TEST(top_obeys_no_escape)
{
    AUTO_PROFILE struct profile p = {0};
    CHECK_EQ(fixture_hostile(&p), 0);
    AUTO_BUF struct buf b = {0};
    CHECK_EQ(encode_top(&p, 100, &b), 0);
    CHECK(is_utf8(b.data, b.len));
    for (size_t i = 0; i < b.len; i++)
        CHECK((unsigned char)b.data[i] >= 0x20 || b.data[i] == '\n');
    CHECK(!strstr(b.data, "\xe2\x80\xae"));
    for (const char *line = b.data, *end; (end = strchr(line, '\n')); line = end + 1)
        CHECK(end - line < 160);
}

TEST(same_profile_same_bytes)
{
    size_t n;
    const struct encoder *all = encoders(&n);
    for (size_t i = 0; i < n; i++) {
        AUTO_BUF struct buf a = {0}, b = {0};
        AUTO_PROFILE struct profile p = {0};
        AUTO_PROFILE struct profile q = {0};
        CHECK_EQ(fixture_hostile(&p), 0);
        CHECK_EQ(fixture_hostile(&q), 0);
        CHECK_EQ(all[i].encode(&p, &a), 0);
        CHECK_EQ(all[i].encode(&q, &b), 0);
        CHECK_EQ(a.len, b.len);
        CHECK(!memcmp(a.data, b.data, a.len));
    }
}

TEST(encoders_take_an_empty_profile)
{
    size_t n;
    const struct encoder *all = encoders(&n);
    for (size_t i = 0; i < n; i++) {
        AUTO_BUF struct buf b = {0}, top = {0};
        AUTO_PROFILE struct profile p = {0};
        CHECK_EQ(profile_init(&p), 0);
        CHECK_EQ(all[i].encode(&p, &b), 0);
        CHECK_EQ(encode_top(&p, 10, &top), 0);
    }
}

TEST(text_cuts_characters_not_bytes)
{
    static const struct {
        const char *in, *out;
    } cases[] = {{"abcdef", "abcdef"},
                 {"abcdefg", "abcd.."},
                 {"gr\xc3\xbc\xc3\x9f"
                  "e!!",
                  "gr\xc3\xbc\xc3\x9f.."},
                 {"\xf0\x9f\x94\xa5"
                  "bcdef",
                  "\xf0\x9f\x94\xa5"
                  "bcdef"}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO_BUF struct buf b = {0};
        buf_str(&b, cases[i].in);
        text_cut(&b, 6);
        CHECK_STR(b.data, cases[i].out);
    }
}

TEST(text_quantities)
{
    static const struct {
        u64 value;
        const char *unit, *text;
    } cases[] = {{0, "count", "0"},
                 {999, "count", "999"},
                 {1234567, "count", "1,234,567"},
                 {1000000, "count", "1,000,000"},
                 {0, "nanoseconds", "0.00 ns"},
                 {1500, "nanoseconds", "1.50 us"},
                 {45600000, "nanoseconds", "45.6 ms"},
                 {123456789012, "nanoseconds", "123 s"}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO_BUF struct buf b = {0};
        text_quantity(&b, cases[i].value, cases[i].unit);
        CHECK_STR(b.data, cases[i].text);
    }
}
