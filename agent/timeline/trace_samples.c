/* Samples in Chrome's format: each is an instant on the track of its thread, with its stack as text, because Perfetto
 * shows that; and, in the format's own way, an entry of "samples" that refers to a tree of frames ("stackFrames").
 */
#include "base/cleanup.h"
#include "profile/lookup.h"
#include "profile/text.h"
#include "timeline/writer.h"
#include <errno.h>

struct node {
    u32 parent; /* row + 1; 0: none */
    u32 name;   /* for frame_text */
};
struct tree {
    VEC(struct node) nodes;
    struct lookup index;
};

/* Returns the row + 1; 0: out of memory. */
static u32 add_node(struct tree *t, u32 parent, u32 name)
{
    u64 hash = hash_u64((u64)parent << 32 | name);
    u32 row;
    for (struct probe p = lookup_start(&t->index, hash); lookup_next(&t->index, &p, &row);)
        if (t->nodes.v[row].parent == parent && t->nodes.v[row].name == name)
            return row + 1;
    struct node *n = lookup_put(&t->index, hash, (u32)t->nodes.n) ? NULL : VEC_PUSH(&t->nodes);
    if (!n)
        return 0;
    *n = (struct node){parent, name};
    return (u32)t->nodes.n;
}

/* Returns the row + 1 of the leaf; 0: out of memory. */
static u32 add_stack(struct tree *t, const struct frames *f)
{
    u32 at = 0;
    for (size_t i = 1; i < f->n; i++)
        if (!(at = add_node(t, at, f->v[i].name)))
            return 0;
    return f->n > 1 ? at : add_node(t, 0, f->v[0].name);
}

static void put_ids(struct buf *out, u32 tgid, const struct prof_stack *s, u64 begin)
{
    buf_printf(out, "\"pid\":%u,\"tid\":%u,\"ts\":", tgid, s->tid);
    put_us(out, s->time - begin);
}

static void put_instant(struct tl_view *v, size_t i)
{
    AUTO_BUF struct buf stack = {0};
    const struct frames *f = &v->samples.frames;
    struct buf *out = &v->buf;
    for (size_t k = 1; k < f->n; k++) {
        buf_str(&stack, k > 1 ? ";" : "");
        buf_str(&stack, frame_text(v->profile, f->v[k].name));
    }
    buf_str(out, ",\n{\"ph\":\"i\",\"s\":\"t\",");
    put_ids(out, samples_tgid(&v->samples, i), samples_at(&v->samples, i), v->begin);
    buf_str(out, ",\"cat\":\"sample\",\"name\":");
    buf_json(out, frame_text(v->profile, f->v[f->n - 1].name));
    buf_str(out, ",\"args\":{\"stack\":");
    buf_json(out, stack.data ? stack.data : "");
    buf_str(out, "}}");
}

static int put_events(struct tl_view *v, struct tree *t, u32 *leaves)
{
    for (size_t i = 0; i < v->samples.stacks.n; i++) {
        if (frames_of(v->profile, samples_at(&v->samples, i), &v->samples.frames) ||
            !(leaves[i] = add_stack(t, &v->samples.frames)))
            return -ENOMEM;
        put_instant(v, i);
        view_flush(v, false);
    }
    return 0;
}

static void put_tree(struct tl_view *v, const struct tree *t)
{
    struct buf *out = &v->buf;
    buf_str(out, ",\n\"stackFrames\":{");
    for (size_t i = 0; i < t->nodes.n; i++) {
        buf_printf(out, i ? ",\n\"%zu\":{\"name\":" : "\n\"%zu\":{\"name\":", i + 1);
        buf_json(out, frame_text(v->profile, t->nodes.v[i].name));
        if (t->nodes.v[i].parent)
            buf_printf(out, ",\"parent\":\"%u\"", t->nodes.v[i].parent);
        buf_char(out, '}');
        view_flush(v, false);
    }
    buf_char(out, '}');
}

static void put_samples(struct tl_view *v, const u32 *leaves)
{
    struct buf *out = &v->buf;
    buf_str(out, ",\n\"samples\":[");
    for (size_t i = 0; i < v->samples.stacks.n; i++) {
        const struct prof_stack *s = samples_at(&v->samples, i);
        buf_str(out, i ? ",\n{" : "\n{");
        put_ids(out, samples_tgid(&v->samples, i), s, v->begin);
        buf_printf(out, ",\"name\":\"%s\",\"sf\":\"%u\",\"weight\":1}", v->profile->events[s->event]->name, leaves[i]);
        view_flush(v, false);
    }
    buf_char(out, ']');
}

int trace_put_samples(struct tl_view *v)
{
    struct tree tree = {0};
    AUTO_FREE u32 *leaves = calloc(v->samples.stacks.n + 1, sizeof(*leaves));
    int rc = leaves ? put_events(v, &tree, leaves) : -ENOMEM;
    buf_str(&v->buf, "\n]");
    if (!rc && tree.nodes.n) {
        put_tree(v, &tree);
        put_samples(v, leaves);
    }
    vec_free(&tree.nodes);
    lookup_free(&tree.index);
    return rc;
}
