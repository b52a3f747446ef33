/* Shared by exporters over HTTP: the client, credentials, headers, and the meaning of responses (table in export.h).
 * Credential files are read again for each call, so that a rotated token needs no signal.
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
    bool gzipped; /* sets Content-Encoding */
    u64 raw_len;  /* uncompressed size of the profile, as counted by rate limits */
    const volatile bool *stop;
};

/* Posts the body. `answer` receives the body of a 2xx response; may be NULL. */
void remote_post(struct remote *r, const struct remote_call *c, struct verdict *out, struct buf *answer);

/* Determines what a response with that status means. out->message is the server's message, if there is one. */
void remote_judge(int status, const char *content_type, const char *body, size_t len, u64 raw_len, struct verdict *out);

/* Collects the labels of the profile and those of the target that the profile lacks, up to the number that servers
 * accept. */
size_t remote_labels(const struct export_target *t, const struct export_profile *p,
                     struct export_label out[2 * EXPORT_MAX_LABELS]);
