/* The processes that were seen to run code of no file, and the maps that their runtimes keep of it. Bounded; one that
 * ended is forgotten when an interval went by without it. The worker's, but for jit_process_new.
 */
#pragma once
#include "bpf/types.h"
#include "bpf/xprof.h"
#include "proc/jit_file.h"
#include <stdbool.h>
#include <stddef.h>

struct jit_maps;
struct names;
struct parser;

struct jit_process {
    u32 tgid;
    u64 start; /* ns since boot */
    struct jit_place place;
};
/* NULL: it is gone, or no memory. On any thread. */
struct jit_process *jit_process_new(u32 tgid, u64 start);
void jit_process_free(struct jit_process **p);

/* The parser is borrowed; 0 or -ENOMEM. */
int jit_maps_new(struct jit_maps **out, struct parser *parser);
void jit_maps_free(struct jit_maps **j);
/* Takes it. */
void jit_maps_add(struct jit_maps *j, struct jit_process *p);
/* Names of n ascending addresses, as name_source.anonymous says (profile/symbolize.h). 0, -ENOENT (no map), -errno. */
int jit_maps_names(struct jit_maps *j, u32 tgid, u64 start, const u64 *addresses, size_t n,
                   void (*use)(void *arg, const struct names *names), void *arg);
/* The interval ended. */
void jit_maps_age(struct jit_maps *j);
/* Does the sample run through code of no file? */
bool jit_sample(const struct xp_sample *s);
