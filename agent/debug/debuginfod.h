/* Fetches debug files from debuginfod servers by build ID (elfutils' debuginfod(8): GET URL/buildid/HEX/debuginfo).
 *
 * A separate thread sends the requests, so that a slow server does not block callers that do not want to wait. Files
 * are stored in a directory of limited size, least recently used ones are removed first, and a file that grows larger
 * than all of it is refused. The fact that no server has a file is also stored there, for ten minutes. A server that
 * cannot be reached, or does not respond in time, is not queried for a minute. Servers are not trusted: the caller
 * compares the build ID of a file and drops a wrong one.
 */
#pragma once
#include "bpf/types.h"
#include "net/proxy.h"
#include <stddef.h>

struct debuginfod;

struct debuginfod_config {
    const char *const *urls; /* copied; http:// or https:// */
    size_t nurls;
    const char *more; /* URLs separated by blanks, as in DEBUGINFOD_URLS; used if there are no `urls`; or NULL */
    struct proxy_config proxy; /* strings are copied */
    const char *dir;           /* directory for files; NULL: a temporary one */
    size_t max_file;           /* maximum size of one file; 0: max_bytes */
    size_t max_bytes;          /* maximum size of all files on disk; 0: 1 GiB */
    unsigned idle_ms;          /* time without a byte after which a request fails; 0: 10 s */
    unsigned patience_ms;      /* total time that debuginfod_get waits; 0: it does not wait */
};

/* Returns 0, with *out = NULL if there is no URL; -EINVAL: no URL is valid; -EPERM: the directory is owned or writable
 * by others; -ENOMEM; or another -errno. */
int debuginfod_new(struct debuginfod **out, const struct debuginfod_config *config);
/* Aborts any transfer. */
void debuginfod_free(struct debuginfod **d);

/* Returns the debug file of a build ID (4 to 40 hex digits) as an owned fd, opened O_RDONLY. -EINPROGRESS: try again
 * later; -ENOENT: no server has it; -EFBIG: too large; -EINVAL; or the error of the last server
 * (net/http.h). Any thread may call it. */
int debuginfod_get(struct debuginfod *d, const char *id);
/* Drops a file that does not have this build ID. It is not returned again for ten minutes. */
void debuginfod_drop(struct debuginfod *d, const char *id);
struct debuginfod_stats {
    u64 fetched, missing, failed;
    u64 too_large; /* larger than max_file or max_bytes */
    u64 lied;      /* files of another build */
};
void debuginfod_stats(struct debuginfod *d, struct debuginfod_stats *out);
