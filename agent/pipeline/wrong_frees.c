#include "pipeline/wrong_frees.h"
#include "bpf/heap.h"
#include <stddef.h>
#include <string.h>

#define MAX_EARLIER 1024 /* words of a stack that allocated, or freed before: the innermost ones */

bool wrong_free_is(const struct xp_sample *s)
{
    if (s->nkernel != XP_BAD_WORDS)
        return false;
    for (size_t i = 0; i < XP_BAD_WORDS; i++)
        if (XP_WORD_KIND(s->words[i]) != XP_WORD_LABEL)
            return false;
    u32 what = XP_LABEL_WHAT(s->words[0]);
    return what >= XP_LABEL_FREED_TWICE && what <= XP_LABEL_IN_DATA;
}

static u64 key_of(const u64 halves[2])
{
    return (halves[0] & UINT32_MAX) | halves[1] << 32;
}

static size_t put(u64 *to, size_t room, const u64 *words, size_t n)
{
    size_t put = n < room ? n : room;
    if (put && XP_IS_RUNTIME(words[put - 1]))
        put--; /* without its second word */
    memcpy(to, words, put * sizeof(*to));
    return put;
}

/* An earlier stack and, towards the root, its label. */
static size_t put_earlier(u64 *to, const struct xp_sample *earlier, enum xp_bad_label label)
{
    size_t n = earlier ? put(to, MAX_EARLIER, earlier->words + earlier->nkernel, earlier->nuser) : 0;
    if (!n)
        to[n++] = XP_LABEL(XP_LABEL_UNKNOWN, 0);
    to[n++] = XP_LABEL(label, 0);
    return n;
}

void wrong_free_join(struct xp_sample *to, const struct xp_sample *s,
                     const struct xp_sample *(*find)(const void *ctx, u64 key), const void *ctx)
{
    u32 what = XP_LABEL_WHAT(s->words[0]);
    u64 *words = to->words;
    size_t n = 0;
    if (what == XP_LABEL_FREED_TWICE || what == XP_LABEL_INSIDE)
        n += put_earlier(words + n, find(ctx, key_of(s->words + 1)), XP_LABEL_ALLOCATED);
    if (what == XP_LABEL_FREED_TWICE)
        n += put_earlier(words + n, find(ctx, key_of(s->words + 3)), XP_LABEL_FREED);
    words[n++] = s->words[0];
    n += put(words + n, XP_MAX_USER - n, s->words + s->nkernel, s->nuser);
    to->nkernel = 0;
    to->nuser = (u16)n;
}
