#include "runtime/frame_reply.h"
#include "base/cleanup.h"
#include <errno.h>
#include <string.h>

#define MAX_FRAMES (1u << 22)
#define MAX_TEXTS  ((size_t)64 << 20)

u32 frame_reply_text(struct frame_reply *r, const char *s, size_t len)
{
    size_t at = r->texts.len;
    if (!len)
        return 0;
    if (at + len + 1 > MAX_TEXTS) {
        r->cut = true;
        return 0;
    }
    buf_add(&r->texts, s, len);
    buf_char(&r->texts, 0);
    return r->texts.failed ? 0 : (u32)at;
}

u32 frame_reply_text_of(struct frame_reply *r, const struct buf *text, bool ok)
{
    r->texts.failed |= text->failed;
    return ok ? frame_reply_text(r, text->data, text->len) : 0;
}

void frame_reply_add(struct frame_reply *r, struct names_frame f)
{
    struct names_frame *to = VEC_PUSH(&r->frames);
    if (to)
        *to = f;
    else
        r->texts.failed = true;
}

void frame_reply_named(struct frame_reply *r, enum runtime_kind kind, const char *name)
{
    u32 text = frame_reply_text(r, name, strlen(name));
    frame_reply_add(r, (struct names_frame){.start = kind, .name = text, .system_name = text});
}

/* ---- Pairs ------------------------------------------------------------------------------------------------------ */

struct job {
    struct frame_reply *r;
    const struct frame_reply_ops *ops;
    void *query;
    const u64 *words;
    size_t n;
};

static void free_reply(struct frame_reply *r)
{
    buf_free(&r->texts);
    vec_free(&r->frames);
    vec_free(&r->first);
}

/* The last frame is the one for what is gone. */
static void add_all(const struct job *j)
{
    struct frame_reply *r = j->r;
    buf_char(&r->texts, 0); /* offset 0 is the empty text */
    r->texts.failed |= VEC_RESERVE(&r->first, j->n + 1) != 0;
    for (size_t i = 0; i < j->n && !r->texts.failed; i++) {
        r->first.v[r->first.n++] = (u32)r->frames.n;
        if (r->frames.n < MAX_FRAMES)
            j->ops->add(j->query, j->words + 2 * i);
        else
            r->cut = true;
    }
    if (r->texts.failed)
        return;
    r->first.v[r->first.n++] = (u32)r->frames.n;
    frame_reply_named(r, RUNTIME_GONE, j->ops->gone);
}

/* ---- Writing ---------------------------------------------------------------------------------------------------- */

static void write_frames(const struct job *j, struct buf *firsts, struct buf *frames)
{
    const struct frame_reply *r = j->r;
    const struct names_frame *gone = &r->frames.v[r->frames.n - 1];
    u32 count = 0;
    buf_add(firsts, &count, sizeof(count));
    for (size_t i = 0; i < j->n; i++) {
        u32 k = r->first.v[i + 1] - r->first.v[i];
        bool is_one = !k || j->ops->is_gone(j->query, j->words + 2 * i);
        buf_add(frames, is_one ? gone : r->frames.v + r->first.v[i], (is_one ? 1 : k) * sizeof(*gone));
        count += is_one ? 1 : k;
        buf_add(firsts, &count, sizeof(count));
    }
}

static int write_all(const struct job *j, struct buf *out)
{
    AUTO_BUF struct buf firsts = {0};
    AUTO_BUF struct buf frames = {0};
    const struct buf *texts = &j->r->texts;
    size_t at = out->len;
    write_frames(j, &firsts, &frames);
    struct names_header h = {.magic = NAMES_MAGIC,
                             .n = (u32)j->n,
                             .nframes = (u32)(frames.len / sizeof(struct names_frame)),
                             .strings = (u32)texts->len,
                             .cut = j->r->cut};
    buf_add(out, &h, sizeof(h));
    buf_add(out, firsts.data, firsts.len);
    while (!out->failed && out->len - at < names_frames_at(j->n))
        buf_char(out, 0);
    buf_add(out, frames.data, frames.len);
    buf_add(out, texts->data, texts->len);
    return firsts.failed || frames.failed || out->failed ? -ENOMEM : 0;
}

int frame_reply_make(struct frame_reply *r, const struct frame_reply_ops *ops, void *query, struct memory *m,
                     const u64 *words, size_t n, struct buf *out)
{
    const struct job j = {r, ops, query, words, n};
    u64 reserved = m->left / 4;
    m->left -= reserved;
    add_all(&j);
    memory_forget(m);
    m->left += reserved;
    int rc = r->texts.failed ? -ENOMEM : write_all(&j, out);
    free_reply(r);
    return rc;
}
