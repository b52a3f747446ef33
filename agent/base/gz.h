/* Compresses with gzip. Equal input gives equal output: the header contains neither time nor name. */
#pragma once
#include "base/buf.h"
#include <stdbool.h>

/* Appends `data`, compressed with level 1 (fast) to 9 (small). Returns 0 or -ENOMEM. */
int gz_compress(const void *data, size_t len, int level, struct buf *out);
/* The same bit by bit. */
struct gz_stream;
int gz_stream_new(struct gz_stream **out, int level); /* 0 or -ENOMEM */
void gz_stream_free(struct gz_stream **s);
/* Appends what can be said by now, and with `last` the end. Returns 0 or -ENOMEM. */
int gz_stream_add(struct gz_stream *s, const void *data, size_t len, bool last, struct buf *out);
/* Appends the uncompressed contents of gzip data, at most `max` bytes. Returns 0, -EBADMSG, -EFBIG or -ENOMEM. */
int gz_expand(const void *data, size_t len, size_t max, struct buf *out);
