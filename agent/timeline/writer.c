#include "timeline/writer.h"
#include "profile/text.h"
#include <errno.h>
#include <stdio.h>

#define FULL ((size_t)1 << 20)

void view_flush(struct tl_view *v, bool all)
{
    if (v->buf.len < FULL && !all)
        return;
    if (v->buf.failed && !v->rc)
        v->rc = -ENOMEM;
    if (!v->rc && v->buf.len)
        v->rc = v->sink.write(v->sink.ctx, v->buf.data, v->buf.len);
    v->buf.len = 0;
}

static void put_thousandths(struct buf *out, u64 n)
{
    char text[4] = {'.', (char)('0' + n % 1000 / 100), (char)('0' + n % 100 / 10), (char)('0' + n % 10)};
    text_uint(out, n / 1000);
    if (n % 1000)
        buf_add(out, text, sizeof(text));
}

void put_us(struct buf *out, u64 ns)
{
    put_thousandths(out, ns);
}

void put_ms(struct buf *out, u64 ns)
{
    put_thousandths(out, ns / 1000);
}

void view_who(const struct tl_thread *t, char out[VIEW_WHO])
{
    snprintf(out, VIEW_WHO, "%.15s (%u)", t->comm, t->tid);
}

const char *view_process(const struct tl_thread *t)
{
    return t->tid == t->tgid ? t->comm : t->process;
}
