/* A growable byte buffer. Errors are sticky: after a failed allocation every append does nothing and `failed` is set,
 * so that an encoder checks once, at its end.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

struct buf {
    char *data;
    size_t len, cap;
    bool failed;
};

void buf_add(struct buf *b, const void *p, size_t n);
void buf_str(struct buf *b, const char *s);
void buf_printf(struct buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void buf_char(struct buf *b, char c);
/* s as a JSON string with its quotes; bytes that are not UTF-8 become U+FFFD. */
void buf_json(struct buf *b, const char *s);
void buf_free(struct buf *b);
#define AUTO_BUF __attribute__((cleanup(buf_free)))
