/* Compresses with gzip. Equal input gives equal output: the header contains neither time nor name. */
#pragma once
#include "base/buf.h"

/* Appends `data`, compressed with level 1 (fast) to 9 (small). Returns 0 or -ENOMEM. */
int gz_compress(const void *data, size_t len, int level, struct buf *out);
/* Appends the uncompressed contents of gzip data, at most `max` bytes. Returns 0, -EBADMSG, -EFBIG or -ENOMEM. */
int gz_expand(const void *data, size_t len, size_t max, struct buf *out);
