/* The outcome of a call to the API server or the kubelet: the kind of failure, for the counters; a message, for logs;
 * and the delay that the server requests.
 */
#pragma once
#include "kube/kube.h"
#include "net/http.h"

struct outcome {
    bool failed;
    enum kube_error error;
    u64 retry_after_ms;
    char text[300]; /* message about a failure */
};

struct outcome outcome_failure(enum kube_error error, const char *text);
/* Evaluates the result (net/http.h) and response of a call. */
struct outcome outcome_of_call(int rc, const struct http_response *a);
