/* Decides who may read a page that is not for everybody who reaches the port: requests from this host (in a pod: from
 * the pod's own network, as those of `kubectl port-forward`), and requests with a bearer token.
 */
#pragma once
#include <sys/socket.h>

enum guard {
    GUARD_PASS,
    GUARD_NO_TOKEN,    /* it needs one, and brings none */
    GUARD_WRONG_TOKEN, /* or not that of the file, or the file cannot be read */
};

/* `authorization` is the header of that name, or NULL; `token_file` may be NULL: then no token passes. The file is read
 * each time, so that a replaced token counts at once. */
enum guard guard_request(const struct sockaddr *from, const char *authorization, const char *token_file);
