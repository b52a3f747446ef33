/* Texts for people: what is replaced, cut or escaped, at the limits of each range. */
#include "profile/text.h"
#include "base/cleanup.h"
#include "base/test.h"

static const char *cleaned(struct buf *b, const char *text)
{
    b->len = 0;
    text_clean(b, text, ';', ':');
    buf_char(b, 0);
    return b->data;
}

#define GONE "\xef\xbf\xbd"

TEST(text_is_cleaned_of_what_controls)
{
    static const struct {
        const char *text, *clean;
    } cases[] = {
        {"", ""},
        {"a;b", "a:b"},
        {"\x01\x1f \x7e\x7f", "   ~ "},
        {"\xc2\x80\xc2\x9f\xc2\xa0", "  \xc2\xa0"},                 /* C1 */
        {"\xe2\x80\xa7\xe2\x80\xa8\xe2\x80\xa9", "\xe2\x80\xa7  "}, /* ends of lines and paragraphs */
        {"\xe2\x80\x8d\xe2\x80\x8e\xe2\x80\x8f\xe2\x80\x90", "\xe2\x80\x8d" GONE GONE "\xe2\x80\x90"},
        {"\xe2\x80\xaa\xe2\x80\xae\xe2\x80\xaf", GONE GONE "\xe2\x80\xaf"},                            /* embeddings */
        {"\xe2\x81\xa5\xe2\x81\xa6\xe2\x81\xa9\xe2\x81\xaa", "\xe2\x81\xa5" GONE GONE "\xe2\x81\xaa"}, /* isolates */
        {"\xff"
         "a\xc3",
         GONE "a" GONE}, /* no UTF-8 */
        {"\xf0\x9f\x94\xa5", "\xf0\x9f\x94\xa5"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        AUTO_BUF struct buf b = {0};
        CHECK_STR(cleaned(&b, cases[i].text), cases[i].clean);
    }
}

TEST(text_is_cut_to_its_columns)
{
    static const struct {
        const char *text;
        size_t columns;
        const char *cut;
    } cases[] = {{"abcdef", 6, "abcdef"},
                 {"abcdef", 5, "abc.."},
                 {"abcdef", 2, ".."},
                 {"abcdef", 1, "abcdef"},
                 {"abcdef", 0, "abcdef"},
                 {"", 0, ""},
                 {"\xc3\xa4\xc3\xb6\xc3\xbc", 3, "\xc3\xa4\xc3\xb6\xc3\xbc"},
                 {"\xc3\xa4\xc3\xb6\xc3\xbc"
                  "x",
                  3, "\xc3\xa4.."}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        AUTO_BUF struct buf b = {0};
        buf_str(&b, cases[i].text);
        text_cut(&b, cases[i].columns);
        buf_char(&b, 0);
        CHECK_STR(b.data, cases[i].cut);
    }
}

TEST(text_is_escaped_for_xml)
{
    AUTO_BUF struct buf b = {0};
    text_xml(&b, "a&<>\"'z", 100);
    text_xml(&b, "", 100);
    text_xml(&b, "\xef\xbf\xbd\xef\xbf\xbe\xef\xbf\xbf", 100); /* U+FFFD is a character, those behind it are not */
    text_xml(&b, "abcdef", 4);
    buf_char(&b, 0);
    CHECK_STR(b.data, "a&#38;&#60;&#62;&#34;&#39;z" GONE GONE GONE "ab..");
}

TEST(text_of_numbers)
{
    static const struct {
        u64 value;
        const char *unit, *text;
    } cases[] = {{0, "count", "0"},
                 {999, "count", "999"},
                 {1000, "count", "1,000"},
                 {1002003, "bytes", "1,002,003"},
                 {999, "nanoseconds", "999 ns"},
                 {1000, "nanoseconds", "1.00 us"},
                 {99900, "nanoseconds", "99.9 us"},
                 {9990000, "nanoseconds", "9.99 ms"},
                 {100000000, "nanoseconds", "100 ms"},
                 {1000000000, "nanoseconds", "1.00 s"}};
    AUTO_BUF struct buf digits = {0};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        AUTO_BUF struct buf b = {0};
        text_quantity(&b, cases[i].value, cases[i].unit);
        buf_char(&b, 0);
        CHECK_STR(b.data, cases[i].text);
    }
    text_uint(&digits, 0);
    buf_char(&digits, ' ');
    text_uint(&digits, 10);
    buf_char(&digits, ' ');
    text_uint(&digits, UINT64_MAX);
    buf_char(&digits, 0);
    CHECK_STR(digits.data, "0 10 18446744073709551615");
}

TEST(text_of_paths)
{
    CHECK_STR(text_base("/usr/lib/x.so"), "x.so");
    CHECK_STR(text_base("x.so"), "x.so");
    CHECK_STR(text_base("/usr/lib/"), "/usr/lib/");
    CHECK_EQ(text_width("\xc3\xa4"
                        "bc"),
             3);
}
