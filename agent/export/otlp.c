/* The exporter of OTLP profiles over HTTP: POST /v1development/profiles, protobuf, gzipped if wanted. */
#include "export/otlp.h"
#include "base/cleanup.h"
#include "base/gz.h"
#include "base/log.h"
#include "export/remote.h"
#include <errno.h>
#include <stdio.h>

static int otlp_new(void **out, const struct export_target *t, char *why, size_t size)
{
    return remote_new((struct remote **)out, t, "/v1development/profiles", "application/x-protobuf", why, size);
}

static void otlp_free(void *self)
{
    struct remote *r = self;
    remote_free(&r);
}

static int make_request(const struct export_target *t, const struct export_profile *p, struct buf *out)
{
    struct export_label labels[2 * EXPORT_MAX_LABELS];
    struct pprof pprof CLEANUP(pprof_free) = {0};
    AUTO_BUF struct buf raw = {0};
    struct otlp_about about = {.labels = labels, .time_ns = p->time_ns, .duration_ns = p->duration_ns};
    int rc = gz_expand(p->gz, p->gz_len, EXPORT_MAX_PPROF, &raw);
    about.nlabels = remote_labels(t, p, labels);
    rc = rc ? rc : pprof_read(&pprof, raw.data, raw.len);
    return rc ? rc : otlp_encode(&pprof, &about, out);
}

static void note_rejected(const struct buf *answer, struct verdict *out)
{
    struct cursor why;
    if (!answer->data)
        return;
    out->rejected = otlp_rejected(answer->data, answer->len, &why);
    if (!out->rejected)
        return;
    snprintf(out->message, sizeof(out->message), "%.*s", (int)(why.len < 250 ? why.len : 250), (const char *)why.base);
    log_clean(out->message);
}

static void otlp_send(void *self, const struct export_profile *p, const volatile bool *stop, struct verdict *out)
{
    const struct export_target *t = remote_target(self);
    AUTO_BUF struct buf b = {0}, packed = {0}, answer = {0};
    int rc = make_request(t, p, &b);
    if (!rc && t->gzip)
        rc = gz_compress(b.data, b.len, 1, &packed);
    if (rc) {
        *out = (struct verdict){.kind = rc == -ENOMEM ? VERDICT_RETRY : VERDICT_DROP, .reason = EXPORT_MALFORMED};
        snprintf(out->message, sizeof(out->message), "cannot convert the profile to OTLP: %s",
                 rc == -EBADMSG  ? "not a pprof profile"
                 : rc == -ENOMEM ? "out of memory"
                                 : "larger than the limits");
        return;
    }
    const struct buf *body = t->gzip ? &packed : &b;
    struct remote_call call = {
        .body = body->data, .len = body->len, .gzipped = t->gzip, .raw_len = p->raw_len, .stop = stop};
    remote_post(self, &call, out, &answer);
    if (out->kind == VERDICT_DONE)
        note_rejected(&answer, out);
}

const struct exporter exporter_otlp = {.slug = "otlp", .new = otlp_new, .send = otlp_send, .free = otlp_free};
