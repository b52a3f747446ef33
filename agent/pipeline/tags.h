/* Keeps the texts of tags (bpf/sums.h): what system calls were about, a file or a peer. The kernel side sends each one
 * once per interval, and sums refer to them by key. Their words are put into stacks behind the label, and become a
 * label of samples. Owned by the collector.
 */
#pragma once
#include "base/buf.h"
#include "base/map.h"
#include "base/shares.h"
#include "base/vec.h"
#include "bpf/types.h"
#include "bpf/xprof.h"
#include "bpf/sums.h"

#define TAGS_BYTES (8u << 20) /* limit of all texts */

struct tags {          /* initialize with {.bytes.limit = TAGS_BYTES} */
    struct map places; /* key -> its place in `all`, plus 1 */
    VEC(struct tag) all;
    struct shares bytes; /* by cgroup */
    u32 interval;
    u64 lost; /* texts for which there was no room, or sums whose text is not known */
};

void tags_free(struct tags *t);
/* Keeps a text; or notes that it is still in use. */
void tags_keep(struct tags *t, const struct xp_tag_event *e);
/* Puts the words of a tag behind the label of a stack, which has room for XP_TAG_WORDS of them. Key 0, and stacks
 * without label, stay as they are. */
void tags_put(struct tags *t, u64 key, struct xp_sample *s);
#define TAGS_STACK_WORDS 3 /* a label, and the key of a tag in two halves, the lower one first (XP_LABEL_KEY) */
/* Whether a stack begins with these; then puts the words of the tag in their place, for which there is room. */
bool tags_in_stack(const struct xp_sample *s);
void tags_expand(struct tags *t, struct xp_sample *s);
/* Ends an interval: what nobody has used for one is forgotten. */
void tags_tick(struct tags *t);
/* Appends what a tag is called: a path, "10.0.0.7:443". */
void tags_text(const struct xp_tag_event *e, struct buf *out);
