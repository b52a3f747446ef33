/* How a call of the API server or the kubelet ended: what kind of failure, for the counters; what to say, for people;
 * how long the server wants us to wait.
 */
#pragma once
#include "kube/kube.h"
#include "net/http.h"

struct outcome {
    bool failed;
    enum kube_error error;
    u64 retry_after_ms;
    char text[300]; /* of a failure, for people */
};

struct outcome outcome_failure(enum kube_error error, const char *text);
/* What a call's result (net/http.h) and answer amount to. */
struct outcome outcome_of_call(int rc, const struct http_response *a);
