/* Makes one stack of the three that a wrong free has (bpf/kinds/badfree.bpf.c). From the root: the stack that frees,
 * what is wrong, and behind labels the stack that had freed the block before and the one that had allocated it.
 */
#pragma once
#include "bpf/types.h"
#include "bpf/xprof.h"
#include <stdbool.h>

bool wrong_free_is(const struct xp_sample *s);
/* Puts the words of the wrong free `s` into `to`, which has room for XP_MAX_USER words. `find`: the stack of a key;
 * NULL: it is not known. */
void wrong_free_join(struct xp_sample *to, const struct xp_sample *s,
                     const struct xp_sample *(*find)(const void *ctx, u64 key), const void *ctx);
