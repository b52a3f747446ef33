#include "runtime/frame_reply.h"
#include "base/cleanup.h"
#include <errno.h>
#include <string.h>

#define MAX_FRAMES (1u << 22)
#define MAX_TEXTS  ((size_t)64 << 20)

int frame_reply_begin(struct frame_reply *r, size_t pairs)
{
    buf_char(&r->texts, 0); /* offset 0 is the empty text */
    return VEC_RESERVE(&r->first, pairs + 1) || r->texts.failed ? -ENOMEM : 0;
}

void frame_reply_free(struct frame_reply *r)
{
    buf_free(&r->texts);
    vec_free(&r->frames);
    vec_free(&r->first);
}

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

bool frame_reply_pair(struct frame_reply *r)
{
    u32 *first = VEC_PUSH(&r->first);
    bool has_room = r->frames.n < MAX_FRAMES;
    r->cut |= !has_room;
    if (first)
        *first = (u32)r->frames.n;
    else
        r->texts.failed = true;
    return first && has_room;
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

/* ---- Writing ---------------------------------------------------------------------------------------------------- */

struct writer {
    struct frame_reply *r;
    frame_reply_is_gone is_gone;
    void *arg;
    struct buf firsts, frames;
};

/* The last frame is the one for what is gone. */
static void write_frames(struct writer *w)
{
    struct frame_reply *r = w->r;
    const struct names_frame *gone = &r->frames.v[r->frames.n - 1];
    u32 count = 0;
    buf_add(&w->firsts, &count, sizeof(count));
    for (size_t i = 0; i + 1 < r->first.n; i++) {
        u32 k = r->first.v[i + 1] - r->first.v[i];
        bool is_one = !k || w->is_gone(w->arg, i);
        buf_add(&w->frames, is_one ? gone : r->frames.v + r->first.v[i], (is_one ? 1 : k) * sizeof(*gone));
        count += is_one ? 1 : k;
        buf_add(&w->firsts, &count, sizeof(count));
    }
}

static void write_all(struct writer *w, struct buf *out)
{
    size_t n = w->r->first.n - 1, at = out->len;
    struct names_header h = {.magic = NAMES_MAGIC,
                             .n = (u32)n,
                             .nframes = (u32)(w->frames.len / sizeof(struct names_frame)),
                             .strings = (u32)w->r->texts.len,
                             .cut = w->r->cut};
    buf_add(out, &h, sizeof(h));
    buf_add(out, w->firsts.data, w->firsts.len);
    while (!out->failed && out->len - at < names_frames_at(n))
        buf_char(out, 0);
    buf_add(out, w->frames.data, w->frames.len);
    buf_add(out, w->r->texts.data, w->r->texts.len);
}

int frame_reply_write(struct frame_reply *r, const char *gone, frame_reply_is_gone is_gone, void *arg, struct buf *out)
{
    struct writer w = {.r = r, .is_gone = is_gone, .arg = arg};
    frame_reply_pair(r);
    frame_reply_named(r, RUNTIME_GONE, gone);
    bool ok = !r->texts.failed;
    if (ok) {
        write_frames(&w);
        write_all(&w, out);
        ok = !w.firsts.failed && !w.frames.failed && !out->failed;
    }
    buf_free(&w.firsts);
    buf_free(&w.frames);
    return ok ? 0 : -ENOMEM;
}
