/* The encoders in the table of encode.c. Each appends the whole file to `out` and returns 0 or -ENOMEM. */
#pragma once
#include "base/buf.h"
#include "profile/profile.h"

int encode_pprof(const struct profile *p, struct buf *out);
/* The same, not compressed. `labels`: with sample labels (pid, process, cut); not for servers that create a series per
 * value. */
int encode_pprof_plain(const struct profile *p, bool labels, struct buf *out);
int encode_stacks(const struct profile *p, struct buf *out);
int encode_collapsed(const struct profile *p, struct buf *out);
int encode_speedscope(const struct profile *p, struct buf *out);
int encode_gecko(const struct profile *p, struct buf *out);
int encode_svg(const struct profile *p, struct buf *out);
int encode_html(const struct profile *p, struct buf *out);
