/* Fetches debug files from debuginfod servers by build ID (elfutils' debuginfod(8): GET URL/buildid/HEX/debuginfo).
 *
 * One thread of its own asks, so that a slow server holds up nobody who does not want to wait. Files are kept in a
 * folder below a sum of bytes, those used longest ago go first; that no server has a file is remembered there, too, for
 * ten minutes. A server that cannot be reached, or does not answer in time, is left alone for a minute. What a server
 * sends is a claim: whoever takes the file compares its build ID, and drops one that lied.
 */
#pragma once
#include "bpf/types.h"
#include <stddef.h>

struct debuginfod;

struct debuginfod_config {
    const char *const *urls; /* copied; http:// or https:// */
    size_t nurls;
    const char *more; /* the same with blanks between, as in DEBUGINFOD_URLS; used when there are no `urls`; or NULL */
    const char *dir;  /* where files are kept; NULL: for as long as this lives */
    size_t max_file;  /* bytes of one file; 0: 2 GiB */
    size_t max_bytes; /* of all in the folder; 0: 4 GiB */
    unsigned idle_ms; /* without a byte for so long, a server is given up; 0: 10 s */
    unsigned patience_ms; /* debuginfod_get waits for so long in all; 0: not at all */
};

/* 0 with *out = NULL when there is no URL; -EINVAL (none of them is one), -EPERM (the folder is not ours, or others may
 * write there), -ENOMEM, -errno. */
int debuginfod_new(struct debuginfod **out, const struct debuginfod_config *config);
/* Breaks off what is being fetched. */
void debuginfod_free(struct debuginfod **d);

/* The debug file of a build ID (hex, 4 to 40 digits): an owned fd, opened O_RDONLY. -EINPROGRESS: ask again later;
 * -ENOENT: no server has it; -EFBIG: above max_file; or why the last server could not be asked (net/http.h); -EINVAL.
 * Any thread. */
int debuginfod_get(struct debuginfod *d, const char *id);
/* It was not the file of this build ID: nobody gets it again for ten minutes. */
void debuginfod_drop(struct debuginfod *d, const char *id);
struct debuginfod_stats {
    u64 fetched, missing, failed, lied;
};
void debuginfod_stats(struct debuginfod *d, struct debuginfod_stats *out);
