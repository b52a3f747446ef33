/* Compresses with gzip. Equal input gives equal output: the header contains neither time nor name. */
#pragma once
#include "base/buf.h"

/* Appends `data` compressed with level 1 (fast) to 9 (small). 0 or -ENOMEM. */
int gz_compress(const void *data, size_t len, int level, struct buf *out);
/* Appends what a gzip file holds, at most `max` bytes of it. 0, -EBADMSG, -EFBIG or -ENOMEM. */
int gz_expand(const void *data, size_t len, size_t max, struct buf *out);
