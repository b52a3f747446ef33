#include "base/buf.h"
#include "base/utf8.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Room for n more bytes and a NUL. */
static bool reserve(struct buf *b, size_t n)
{
    if (b->failed)
        return false;
    if (b->len + n < b->cap)
        return true;
    size_t cap = b->cap ? b->cap : 256;
    while (cap <= b->len + n)
        cap *= 2;
    char *p = realloc(b->data, cap);
    if (!p) {
        b->failed = true;
        return false;
    }
    b->data = p;
    b->cap = cap;
    return true;
}

void buf_add(struct buf *b, const void *p, size_t n)
{
    if (!n || !reserve(b, n))
        return;
    memcpy(b->data + b->len, p, n);
    b->len += n;
    b->data[b->len] = 0;
}

void buf_str(struct buf *b, const char *s)
{
    buf_add(b, s, strlen(s));
}

void buf_char(struct buf *b, char c)
{
    buf_add(b, &c, 1);
}

void buf_printf(struct buf *b, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    if (n < 0 || !reserve(b, (size_t)n))
        return;
    va_start(ap, fmt);
    vsnprintf(b->data + b->len, (size_t)n + 1, fmt, ap);
    va_end(ap);
    b->len += (size_t)n;
}

void buf_json(struct buf *b, const char *s)
{
    buf_char(b, '"');
    size_t left = strlen(s);
    while (left) {
        size_t n = utf8_len(s, left);
        unsigned char c = (unsigned char)*s;
        if (!n)
            buf_str(b, "\xef\xbf\xbd");
        else if (c == '"' || c == '\\')
            buf_printf(b, "\\%c", c);
        else if (c < 0x20 || c == 0x7f || (c == '<'))
            buf_printf(b, "\\u%04x", c); /* '<' too: the text may stand inside a <script> */
        else
            buf_add(b, s, n);
        s += n ? n : 1;
        left -= n ? n : 1;
    }
    buf_char(b, '"');
}

void buf_free(struct buf *b)
{
    free(b->data);
    *b = (struct buf){0};
}
