/* From words of a stack to frames: their addresses are in code of methods. Whether it is still there is checked once
 * more at the end. */
#include "base/cleanup.h"
#include "dwarf/demangle.h"
#include "runtime/dotnet_internal.h"
#include "runtime/runtime.h"
#include <errno.h>
#include <string.h>

#define NONE          "[dotnet]"
#define MAX_NAME      512
#define SEARCHES      ((u64)1 << 20) /* places where code may begin, and as many as below for each frame */
#define SEARCHES_EACH 1024

/* Finds it once. Words are in ascending order, so that the next one often is in the same code. NULL: out of memory. */
static const struct dotnet_code *code_of(struct dotnet_query *q, u64 pc)
{
    u64 *known = map_put(&q->found, pc);
    if (known && *known)
        return &q->codes.v[*known - 1];
    const struct dotnet_code *last = q->codes.n ? &q->codes.v[q->codes.n - 1] : NULL;
    struct dotnet_code code = {0};
    if (last && pc >= last->start && pc < last->end)
        code = *last;
    else if (!dotnet_code_of(q, pc, &code))
        code = (struct dotnet_code){0};
    struct dotnet_code *to = known ? VEC_PUSH(&q->codes) : NULL;
    if (!to)
        return NULL;
    *to = code;
    *known = q->codes.n;
    return to;
}

static const struct dotnet_image *image_of(struct dotnet_query *q, u64 module)
{
    bool ok = true;
    u64 base = memory_u(q->m, module + q->d->layout.module_base, sizeof(base), &ok);
    u64 *known = ok ? map_put(&q->images, base) : NULL;
    if (known && *known)
        return &q->known.v[*known - 1];
    struct dotnet_image *to = known ? VEC_PUSH(&q->known) : NULL;
    if (!to)
        return NULL;
    *known = q->known.n;
    if (!dotnet_image_open(q->m, base, to))
        *to = (struct dotnet_image){0};
    return to;
}

/* Code that was made at run time has no metadata, but a name. */
static bool name_of_dynamic(struct dotnet_query *q, u64 desc, struct buf *out)
{
    char text[MAX_NAME];
    bool ok = true;
    u64 at = memory_u(q->m, desc + q->d->layout.method_name, sizeof(at), &ok);
    if (!ok || !memory_text(q->m, at, text, sizeof(text)) || !*text)
        return false;
    buf_str(out, text);
    return true;
}

static bool spell(struct dotnet_query *q, u64 desc, struct buf *out)
{
    struct dotnet_method method;
    if (!dotnet_method(q->m, &q->d->layout, desc, &method))
        return false;
    if (method.dynamic)
        return name_of_dynamic(q, desc, out);
    const struct dotnet_image *image = image_of(q, method.module);
    return image && image->strings && dotnet_method_name(q->m, image, method.type, method.number, out);
}

/* The offset of its name in texts; 0: it has none. */
static u32 name_of(struct dotnet_query *q, u64 desc)
{
    AUTO_BUF struct buf text = {0};
    AUTO_BUF struct buf plain = {0};
    u64 *known = map_put(&q->names, desc);
    if (known && *known)
        return (u32)(*known - 1);
    bool ok = spell(q, desc, &text);
    if (ok && text.len)
        append_utf8(&plain, text.data, text.len);
    u32 at = frame_reply_text_of(&q->reply, &plain, ok);
    if (known)
        *known = (u64)at + 1;
    return at;
}

static void add_pair(void *query, const u64 *w)
{
    struct dotnet_query *q = query;
    const struct dotnet_code *c = frame_reply_is(XP_LANGUAGE_DOTNET, w) ? code_of(q, frame_reply_pc(w)) : NULL;
    if (frame_reply_is(XP_LANGUAGE_DOTNET, w) && !c) {
        q->reply.texts.failed = true;
        return;
    }
    u32 name = c && c->start ? name_of(q, c->method) : 0;
    if (name)
        frame_reply_add(&q->reply, (struct names_frame){.start = RUNTIME_COMPILED, .name = name, .system_name = name});
    else
        frame_reply_named(&q->reply, RUNTIME_STUB, NONE);
}

static bool is_gone(void *query, const u64 *w)
{
    struct dotnet_query *q = query;
    const u64 *known = frame_reply_is(XP_LANGUAGE_DOTNET, w) ? map_get(&q->found, frame_reply_pc(w)) : NULL;
    const struct dotnet_code *c = known && *known ? &q->codes.v[*known - 1] : NULL;
    struct dotnet_code now;
    return c && c->start && (!dotnet_code_at(q, c->start, frame_reply_pc(w), &now) || now.method != c->method);
}

int dotnet_names(struct memory *m, const void *attached, size_t len, const u64 *words, size_t n, struct buf *out)
{
    static const struct frame_reply_ops reply = {add_pair, is_gone, "[dotnet: gone]"};
    struct dotnet d;
    struct dotnet_query q = {.m = m, .d = &d, .search_left = SEARCHES + n / 2 * SEARCHES_EACH};
    if (dotnet_check(attached, len) || n % 2)
        return -EBADMSG;
    memcpy(&d, attached, sizeof(d));
    int rc = frame_reply_make(&q.reply, &reply, &q, m, words, n / 2, out);
    map_free(&q.found);
    map_free(&q.names);
    map_free(&q.images);
    vec_free(&q.codes);
    vec_free(&q.known);
    return rc;
}
