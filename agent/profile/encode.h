/* The table of output formats. The suffix of the file name or --format selects the format. */
#pragma once
#include "base/buf.h"
#include "profile/profile.h"

struct encoder {
    const char *name;   /* --format NAME */
    const char *suffix; /* ".pb.gz" */
    const char *also;   /* another suffix, or NULL */
    const char *help;
    bool threads; /* wants the numbers of threads (prof_stack.tid) */
    /* Appends the whole file to `out`. The same profile gives the same bytes. 0 or -ENOMEM. */
    int (*encode)(const struct profile *p, struct buf *out);
};

const struct encoder *encoder_for_path(const char *path); /* longest matching suffix, behind it .gz or not, or NULL */
/* Whether what is written there is to be gzipped: the path ends in .gz, and the format of that name is not gzipped
 * already. `format`: the name of the format, or NULL. */
bool encoder_gzips(const char *path, const char *format);
const struct encoder *encoder_by_name(const char *name);
const struct encoder *encoders(size_t *n);

/* The table of hottest functions for a terminal: self and total of the first event, at most `rows` rows. */
int encode_top(const struct profile *p, size_t rows, struct buf *out);
