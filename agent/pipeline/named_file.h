/* Files that a probe of the configuration means by their name: which ones they are, and where its functions are in one.
 */
#pragma once
#include "parser/parser.h"
#include "probe/probe.h"

/* What is known of sites of USDT probes beside their places. */
struct named_usdt {
    u32 first; /* the number of the first one on the kernel side, for heap_files.c */
    u32 n;
    u64 counters[ALLOCATORS_MAX]; /* as in struct probe_places */
    struct xp_usdt_site sites[ALLOCATORS_MAX];
};

/* Whether a file of a process is meant, by its path in the root directory of the process: a name without a slash is
 * that of a file in whatever directory. */
bool named_file_is(const struct probe_places *places, const char *path);
/* Whether returns of functions of the file behind fd (borrowed) can be seen: stacks of Go move, with the return
 * addresses on them. Returns 0; -ENOTSUP: it is Go; or another -errno. */
int named_file_check_returns(struct parser *parser, int fd);
/* Finds the functions in the file behind fd (borrowed), or the sites of USDT probes: *usdt then, owned by the caller.
 * Returns 0; -ENOENT: it has none of that name; -ENOTSUP: a probe there would harm (returns of Go); or another -errno.
 */
int named_file_read(struct parser *parser, int fd, const struct probe_places *places, struct allocators *out,
                    struct named_usdt **usdt);
