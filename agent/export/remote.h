/* Shared by exporters over HTTP: the client, credentials, headers, and the meaning of responses (table in export.h).
 * Credential files are small and read for each call: a rotated token needs no signal.
 */
#pragma once
#include "export/exporter.h"

struct remote;

int remote_new(struct remote **out, const struct export_target *t, const char *path, const char *content_type,
               char *why, size_t size);
void remote_free(struct remote **r);
const struct export_target *remote_target(const struct remote *r);

struct remote_call {
    const void *body;
    size_t len;
    bool gzipped; /* say so in Content-Encoding */
    u64 raw_len;  /* of the profile, expanded: what rate limits count */
    const volatile bool *stop;
};

/* `answer` gets the body of a 2xx; may be NULL. */
void remote_post(struct remote *r, const struct remote_call *c, struct verdict *out, struct buf *answer);

/* What an answer with that status means; out->message is the server's, if it says something. */
void remote_judge(int status, const char *content_type, const char *body, size_t len, u64 raw_len, struct verdict *out);

/* The profile's labels and those of the target's that it has none of, as far as a server takes so many. */
size_t remote_labels(const struct export_target *t, const struct export_profile *p,
                     struct export_label out[2 * EXPORT_MAX_LABELS]);
