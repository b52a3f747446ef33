/* Pyroscope's Push: one connect call (unary, application/proto) with one series of one profile, because a call of many
 * is neither atomic nor idempotent. push.v1.PushRequest, RawProfileSeries, RawSample and types.v1.LabelPair of
 * grafana/pyroscope api/push/v1/push.proto. The profile goes as the gzip it already is: the server looks at its first
 * bytes, and a request compressed once more would be no smaller.
 */
#include "base/pb.h"
#include "base/clock.h"
#include "export/remote.h"
#include <errno.h>
#include <stdlib.h>

struct pyroscope {
    struct remote *remote;
    struct buf labels, body; /* kept: a fresh 200 KB costs more in page faults than in copying */
};

static void pyroscope_free(void *self)
{
    struct pyroscope *p = self;
    remote_free(&p->remote);
    buf_free(&p->labels);
    buf_free(&p->body);
    free(p);
}

static int pyroscope_new(void **out, const struct export_target *t, char *why, size_t size)
{
    struct pyroscope *p = calloc(1, sizeof(*p));
    if (!p)
        return -ENOMEM;
    int rc = remote_new(&p->remote, t, "/push.v1.PusherService/Push", "application/proto", why, size);
    if (rc)
        pyroscope_free(p);
    else
        *out = p;
    return rc;
}

static size_t varint_len(u64 v)
{
    size_t n = 1;
    for (; v >= 0x80; v >>= 7)
        n++;
    return n;
}

/* A field that is a message, or bytes, of that length; what it holds is to follow. */
static void open_field(struct buf *b, unsigned field, size_t len)
{
    pb_varint(b, field << 3 | 2);
    pb_varint(b, len);
}

/* Lengths are known from the start, so that the profile is copied once: pb_end would move it twice more. */
static void push_request(struct pyroscope *self, const struct export_label *labels, size_t n,
                         const struct export_profile *p)
{
    struct buf *b = &self->body, *l = &self->labels;
    size_t sample = 1 + varint_len(p->gz_len) + p->gz_len;
    b->len = l->len = 0;
    b->failed = l->failed = false;
    for (size_t i = 0; i < n; i++) {
        size_t label = pb_begin(l, 1);
        pb_string(l, 1, labels[i].name);
        pb_string(l, 2, labels[i].value);
        pb_end(l, label);
    }
    open_field(b, 1, l->len + 1 + varint_len(sample) + sample); /* PushRequest.series */
    buf_add(b, l->data, l->len);
    open_field(b, 2, sample); /* RawProfileSeries.samples */
    pb_bytes(b, 1, p->gz, p->gz_len);
    b->failed |= l->failed;
}

static void pyroscope_send(void *self, const struct export_profile *p, const volatile bool *stop, struct verdict *out)
{
    struct pyroscope *y = self;
    struct export_label labels[2 * EXPORT_MAX_LABELS];
    push_request(y, labels, remote_labels(remote_target(y->remote), p, labels), p);
    if (y->body.failed) {
        *out = (struct verdict){.kind = VERDICT_RETRY, .reason = EXPORT_UNREACHABLE, .message = "out of memory"};
        return;
    }
    struct remote_call call = {.body = y->body.data, .len = y->body.len, .raw_len = p->raw_len, .stop = stop};
    remote_post(y->remote, &call, out, NULL);
}

const struct exporter exporter_pyroscope = {
    .slug = "pyroscope",
    .max_age_ns = 3590 * NS_PER_SEC, /* -validation.reject-older-than is 1 h; the way there takes a moment */
    .new = pyroscope_new,
    .send = pyroscope_send,
    .free = pyroscope_free,
};
