#include "pipeline/tags.h"
#include "base/cleanup.h"
#include "bpf/heap.h"
#include <arpa/inet.h>
#include <string.h>

#define OTHER "[other]"

struct tag {
    u64 key, cgroup;
    char *text; /* owned */
    u32 used;   /* the interval in which it was sent or referred to last */
};

static size_t size_of(const struct tag *tag)
{
    return sizeof(*tag) + strlen(tag->text) + 1;
}

static void drop(struct tags *t, const struct tag *tag)
{
    shares_give(&t->bytes, tag->cgroup, size_of(tag));
    free(tag->text);
}

void tags_free(struct tags *t)
{
    for (size_t i = 0; i < t->all.n; i++)
        drop(t, &t->all.v[i]);
    vec_free(&t->all);
    map_free(&t->places);
    shares_free(&t->bytes);
}

/* ---- Texts ------------------------------------------------------------------------------------------------------- */

static void inet_text(const struct xp_peer *p, struct buf *out)
{
    static const u8 mapped[12] = {[10] = 0xff, [11] = 0xff};
    static const u8 none[16] = {0};
    bool v4 = !p->v6 || !memcmp(p->address, mapped, sizeof(mapped));
    char address[INET6_ADDRSTRLEN] = "*";
    if (memcmp(p->address, none, sizeof(none)) != 0)
        inet_ntop(v4 ? AF_INET : AF_INET6, p->address + (v4 && p->v6 ? 12 : 0), address, sizeof(address));
    bool brackets = strchr(address, ':');
    buf_printf(out, brackets ? "[%s]" : "%s", address);
    if (p->local)
        buf_printf(out, "->:%u", p->local);
    else if (p->port)
        buf_printf(out, ":%u", p->port);
}

/* A path ends at its first 0; what begins with one is no path. */
static void unix_text(const char *text, size_t len, struct buf *out)
{
    if (!text[0]) {
        buf_char(out, '@');
        text++;
        len--;
    }
    buf_add(out, text, strnlen(text, len));
}

static void name_text(const char *text, size_t len, struct buf *out)
{
    len = strnlen(text, len);
    if (len == 6 && !memcmp(text, "pipefs", 6))
        buf_str(out, "[pipe]");
    else
        buf_add(out, text, len);
}

/* Of the root directory itself, there is no name. */
static void path_text(const struct xp_tag_event *e, const char *text, size_t len, struct buf *out)
{
    buf_str(out, e->cut ? "..." : !len ? "/" : "");
    buf_add(out, text, strnlen(text, len));
    if (e->what == XP_TAG_DELETED)
        buf_str(out, " (deleted)");
}

void tags_text(const struct xp_tag_event *e, struct buf *out)
{
    size_t len = e->len < XP_TAG_TEXT ? e->len : XP_TAG_TEXT;
    const char *text = e->text + XP_TAG_TEXT - len;
    struct xp_peer peer;
    if (e->what == XP_TAG_INET && len == sizeof(peer)) {
        memcpy(&peer, text, sizeof(peer));
        inet_text(&peer, out);
    } else if (e->what == XP_TAG_UNIX && len) {
        unix_text(text, len, out);
    } else if (e->what == XP_TAG_NAME) {
        name_text(text, len, out);
    } else {
        path_text(e, text, len, out);
    }
    buf_char(out, 0);
}

/* ---- What is known ----------------------------------------------------------------------------------------------- */

static struct tag *find(const struct tags *t, u64 key)
{
    const u64 *place = map_get(&t->places, key);
    return place && *place ? &t->all.v[*place - 1] : NULL;
}

/* Takes over the text. */
static bool add(struct tags *t, const struct xp_tag_event *e, char *text)
{
    struct tag fresh = {.key = e->key, .cgroup = e->cgroup, .text = text, .used = t->interval};
    if (!shares_take(&t->bytes, e->cgroup, size_of(&fresh)))
        return false;
    struct tag *place = VEC_PUSH(&t->all);
    u64 *index = place ? map_put(&t->places, e->key) : NULL;
    if (!index) {
        t->all.n -= place != NULL;
        shares_give(&t->bytes, e->cgroup, size_of(&fresh));
        return false;
    }
    *place = fresh;
    *index = t->all.n;
    return true;
}

void tags_keep(struct tags *t, const struct xp_tag_event *e)
{
    AUTO_BUF struct buf text = {0};
    struct tag *known = find(t, e->key);
    if (known) { /* by another CPU at the same time, or in an earlier interval */
        known->used = t->interval;
        return;
    }
    tags_text(e, &text);
    AUTO_FREE char *copy = text.failed ? NULL : strdup(text.data);
    if (copy && add(t, e, copy))
        TAKE_PTR(copy);
    else
        t->lost++;
}

void tags_put(struct tags *t, u64 key, struct xp_sample *s)
{
    struct tag *tag = find(t, key);
    const char *text = tag ? tag->text : OTHER;
    size_t len = strlen(text), n = (len + 6) / 7 < XP_TAG_WORDS ? (len + 6) / 7 : XP_TAG_WORDS;
    if (!key || !s->nkernel || XP_WORD_KIND(s->words[0]) != XP_WORD_LABEL)
        return;
    if (tag)
        tag->used = t->interval;
    t->lost += !tag && key != XP_TAG_OTHER;
    memmove(s->words + 1 + n, s->words + 1, 8 * ((size_t)s->nkernel - 1 + s->nuser));
    for (size_t i = 0; i < n; i++)
        s->words[1 + i] = (u64)XP_WORD_NAME << 60;
    for (size_t i = 0; i < len && i < 7 * n; i++)
        s->words[1 + i / 7] |= (u64)(u8)text[i] << 8 * (i % 7);
    s->nkernel = (u16)(s->nkernel + n);
}

static bool is_half(u64 word)
{
    return XP_WORD_KIND(word) == XP_WORD_LABEL && XP_LABEL_WHAT(word) == XP_LABEL_KEY;
}

bool tags_in_stack(const struct xp_sample *s)
{
    return s->nkernel >= TAGS_STACK_WORDS && XP_WORD_KIND(s->words[0]) == XP_WORD_LABEL &&
           XP_LABEL_WHAT(s->words[0]) < XP_LABELS && is_half(s->words[1]) && is_half(s->words[2]);
}

void tags_expand(struct tags *t, struct xp_sample *s)
{
    u64 key = (s->words[1] & UINT32_MAX) | s->words[2] << 32;
    s->nkernel -= TAGS_STACK_WORDS - 1;
    memmove(s->words + 1, s->words + TAGS_STACK_WORDS, 8 * ((size_t)s->nkernel - 1 + s->nuser));
    tags_put(t, key, s);
}

void tags_tick(struct tags *t)
{
    size_t n = 0;
    t->interval++;
    for (size_t i = 0; i < t->all.n; i++) {
        struct tag *tag = &t->all.v[i];
        if (tag->used + 1 < t->interval) {
            map_remove(&t->places, tag->key);
            drop(t, tag);
            continue;
        }
        u64 *place = map_get(&t->places, tag->key);
        if (place)
            *place = n + 1;
        t->all.v[n++] = *tag;
    }
    t->all.n = n;
}
