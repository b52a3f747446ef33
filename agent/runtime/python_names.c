/* From words of a stack to frames. Whether a code object is still the same one is checked twice: when it is read, and
 * once more at the end. Whatever had its names when the sample was taken, and has them then, had them all the time.
 */
#include "base/cleanup.h"
#include "runtime/python_internal.h"
#include "runtime/runtime.h"
#include <errno.h>
#include <string.h>

#define LINE_BYTES ((u64)1 << 20) /* of tables of lines, and as many as below for each frame */
#define LINE_FRAME 2048

struct request {
    struct python_query *q;
    const u64 *words;
};

static bool is_python(const u64 *w)
{
    return XP_WORD_KIND(w[0]) == XP_WORD_PYTHON && XP_WORD_KIND(w[1]) == XP_WORD_MORE;
}

/* The unwinder cannot read what is not in memory at that moment: then the cookie is that of zeros. */
static bool fits(u32 cookie, const u64 *w)
{
    return XP_MORE_COOKIE(w[1]) == cookie || !XP_MORE_COOKIE(w[1]);
}

static bool is_gone(void *arg, size_t i)
{
    const struct request *r = arg;
    const u64 *w = r->words + 2 * i;
    u64 words[XP_PYTHON_WORDS];
    return is_python(w) && (!python_code_words(r->q->m, r->q->p, XP_WORD_ADDR(w[0]), words) ||
                            !fits(XP_PYTHON_COOKIE(words, words[XP_PYTHON_NAMES]), w));
}

static void add_pair(struct python_query *q, const u64 *w)
{
    u64 at = XP_WORD_ADDR(w[0]);
    const struct python_code *c = is_python(w) ? python_code(q, at) : NULL;
    if (!is_python(w)) {
        frame_reply_named(&q->reply, RUNTIME_INTERPRETED, "[python]");
    } else if (!c) {
        q->reply.texts.failed = true;
    } else if (!fits(c->cookie, w)) {
        return;
    } else if (!c->name) {
        frame_reply_named(&q->reply, RUNTIME_INTERPRETED, "[python]");
    } else {
        struct names_frame f = {.start = RUNTIME_INTERPRETED, .name = c->name, .system_name = c->name, .file = c->file};
        f.line = python_line(q, at, c, (s32)XP_MORE_POSITION(w[1]));
        frame_reply_add(&q->reply, f);
    }
}

static int add_all(struct python_query *q, const u64 *words, size_t n)
{
    int rc = frame_reply_begin(&q->reply, n);
    for (size_t i = 0; i < n && !rc; i++)
        if (frame_reply_pair(&q->reply))
            add_pair(q, words + 2 * i);
    return rc;
}

int python_names(struct memory *m, const void *attached, size_t len, const u64 *words, size_t n, struct buf *out)
{
    struct python p;
    struct python_query q = {.m = m, .p = &p, .line_bytes = LINE_BYTES + n * LINE_FRAME};
    struct request r = {.q = &q, .words = words};
    if (python_check(attached, len) || n % 2)
        return -EBADMSG;
    memcpy(&p, attached, sizeof(p));
    u64 reserved = m->left / 4; /* for the second look */
    m->left -= reserved;
    int rc = add_all(&q, words, n / 2);
    memory_forget(m);
    m->left += reserved;
    if (!rc)
        rc = frame_reply_write(&q.reply, "[python: gone]", is_gone, &r, out);
    frame_reply_free(&q.reply);
    vec_free(&q.known);
    map_free(&q.codes);
    return rc;
}
