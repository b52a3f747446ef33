#include "kube/outcome.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/labels.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define RETRY_AFTER_MS (5 * 60 * 1000) /* the longest that a server can make us wait */

struct outcome outcome_failure(enum kube_error error, const char *text)
{
    struct outcome o = {.failed = true, .error = error};
    label_clean_value(o.text, sizeof(o.text), text);
    return o;
}

static enum kube_error error_of_call(int rc)
{
    switch (rc) {
    case -ECONNREFUSED:
    case -EHOSTUNREACH:
        return KUBE_ERROR_CONNECT;
    case -ETIMEDOUT:
        return KUBE_ERROR_TIMEOUT;
    case -ECONNRESET:
        return KUBE_ERROR_RESET;
    case -ENOENT:
    case -EACCES:
    case -ENOMEM:
        return KUBE_ERROR_LOCAL;
    default:
        return KUBE_ERROR_TLS;
    }
}

static enum kube_error error_of_status(int status)
{
    switch (status) {
    case 401:
        return KUBE_ERROR_UNAUTHORIZED;
    case 403:
        return KUBE_ERROR_FORBIDDEN;
    case 410:
        return KUBE_ERROR_EXPIRED;
    case 429:
        return KUBE_ERROR_THROTTLED;
    default:
        return status >= 500 ? KUBE_ERROR_SERVER : KUBE_ERROR_STATUS;
    }
}

/* What a call's result and answer amount to. A refusal carries a Status object with a message. */
struct outcome outcome_of_call(int rc, const struct http_response *a)
{
    CLEANUP(json_free) struct json *status = NULL;
    char text[400];
    if (rc)
        return outcome_failure(error_of_call(rc), *a->error ? a->error : strerror(-rc));
    if (a->status == 200)
        return (struct outcome){.failed = false};
    const char *message = NULL;
    if (a->body.len && !json_parse(&status, a->body.data, a->body.len, 1 << 20))
        message = json_get_text(status, "message");
    snprintf(text, sizeof(text), "HTTP %d%s%.300s", a->status, message ? ": " : "", message ? message : "");
    struct outcome o = outcome_failure(error_of_status(a->status), text);
    o.retry_after_ms = a->retry_after_ms < RETRY_AFTER_MS ? a->retry_after_ms : RETRY_AFTER_MS;
    return o;
}
