/* Pyroscope's Push: one connect call (unary, application/proto) with one series of one profile, because a call of many
 * is neither atomic nor idempotent. push.v1.PushRequest, RawProfileSeries, RawSample and types.v1.LabelPair of
 * grafana/pyroscope api/push/v1/push.proto. The profile goes as the gzip it already is: the server looks at its first
 * bytes, and a request compressed once more would be no smaller.
 */
#include "base/pb.h"
#include "base/clock.h"
#include "export/remote.h"
#include <errno.h>

static int pyroscope_new(void **out, const struct export_target *t, char *why, size_t size)
{
    return remote_new((struct remote **)out, t, "/push.v1.PusherService/Push", "application/proto", why, size);
}

static void pyroscope_free(void *self)
{
    struct remote *r = self;
    remote_free(&r);
}

static void push_request(struct buf *b, const struct export_label *labels, size_t n, const struct export_profile *p)
{
    size_t series = pb_begin(b, 1);
    for (size_t i = 0; i < n; i++) {
        size_t label = pb_begin(b, 1);
        pb_string(b, 1, labels[i].name);
        pb_string(b, 2, labels[i].value);
        pb_end(b, label);
    }
    size_t sample = pb_begin(b, 2);
    pb_bytes(b, 1, p->gz, p->gz_len);
    pb_end(b, sample);
    pb_end(b, series);
}

static void pyroscope_send(void *self, const struct export_profile *p, const volatile bool *stop, struct verdict *out)
{
    struct export_label labels[2 * EXPORT_MAX_LABELS];
    AUTO_BUF struct buf b = {0};
    push_request(&b, labels, remote_labels(remote_target(self), p, labels), p);
    if (b.failed) {
        *out = (struct verdict){.kind = VERDICT_RETRY, .reason = EXPORT_UNREACHABLE, .message = "out of memory"};
        return;
    }
    remote_post(self, &(struct remote_call){.body = b.data, .len = b.len, .raw_len = p->raw_len, .stop = stop}, out,
                NULL);
}

const struct exporter exporter_pyroscope = {
    .slug = "pyroscope",
    .max_age_ns = 3590 * NS_PER_SEC, /* -validation.reject-older-than is 1 h; the way there takes a moment */
    .new = pyroscope_new,
    .send = pyroscope_send,
    .free = pyroscope_free,
};
