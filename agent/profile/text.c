#include "profile/text.h"
#include "base/utf8.h"
#include <stdbool.h>
#include <string.h>

static u32 code_point(const char *s, size_t n)
{
    const u8 *p = (const u8 *)s;
    static const u8 first_bits[5] = {0, 0x7f, 0x1f, 0x0f, 0x07};
    u32 c = p[0] & first_bits[n];
    for (size_t i = 1; i < n; i++)
        c = c << 6 | (p[i] & 0x3f);
    return c;
}

static bool is_control(u32 c)
{
    return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x2028 || c == 0x2029;
}

static bool turns_direction(u32 c)
{
    return c == 0x200e || c == 0x200f || (c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
}

void text_clean(struct buf *b, const char *s, char reserved, char instead)
{
    for (size_t left = strlen(s), n; left; s += n, left -= n) {
        n = utf8_len(s, left);
        u32 c = n ? code_point(s, n) : 0xfffd;
        if (is_control(c))
            buf_char(b, ' ');
        else if (!n || turns_direction(c))
            buf_str(b, "\xef\xbf\xbd");
        else if (*s == reserved)
            buf_char(b, instead);
        else
            buf_add(b, s, n);
        n += !n;
    }
}

void text_cut(struct buf *b, size_t n)
{
    if (b->failed || !b->len || text_width(b->data) <= n || n < 2)
        return;
    size_t len = 0;
    for (size_t left = n - 2; left; left--)
        len += utf8_len(b->data + len, b->len - len);
    b->len = len;
    buf_str(b, "..");
}

void text_xml(struct buf *b, const char *s, size_t n)
{
    AUTO_BUF struct buf clean = {0};
    text_clean(&clean, s, 0, 0);
    text_cut(&clean, n);
    b->failed |= clean.failed;
    if (b->failed || !clean.len)
        return;
    for (const char *c = clean.data, *end = c + clean.len; c < end;) {
        size_t len = utf8_len(c, (size_t)(end - c));
        if (strchr("&<>\"'", *c))
            buf_printf(b, "&#%d;", *c);
        else if (len == 3 && !memcmp(c, "\xef\xbf", 2) && ((u8)c[2] & 0xfe) == 0xbe)
            buf_str(b, "\xef\xbf\xbd"); /* U+FFFE and U+FFFF are no characters of XML */
        else
            buf_add(b, c, len);
        c += len;
    }
}

void text_uint(struct buf *b, u64 v)
{
    char digits[20];
    size_t n = sizeof(digits);
    do
        digits[--n] = (char)('0' + v % 10);
    while (v /= 10);
    buf_add(b, digits + n, sizeof(digits) - n);
}

static void grouped(struct buf *b, u64 v)
{
    if (v >= 1000)
        grouped(b, v / 1000);
    buf_printf(b, v >= 1000 ? ",%03llu" : "%llu", (unsigned long long)(v % 1000));
}

void text_quantity(struct buf *b, u64 value, const char *unit)
{
    static const struct {
        u64 ns;
        const char *name;
    } times[] = {{1000000000, "s"}, {1000000, "ms"}, {1000, "us"}, {1, "ns"}};
    if (strcmp(unit, "nanoseconds") != 0) {
        grouped(b, value);
        return;
    }
    size_t i = 0;
    while (i < 3 && value < times[i].ns)
        i++;
    double v = (double)value / (double)times[i].ns;
    buf_printf(b, "%.*f %s", v < 10 ? 2 : v < 100 ? 1 : 0, v, times[i].name);
}

const char *text_base(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

size_t text_width(const char *s)
{
    size_t n = 0;
    for (; *s; s++)
        n += (*s & 0xc0) != 0x80;
    return n;
}
