/* An HTTP server for unit tests, on loopback and a free port, with a thread per connection. The test provides a
 * function that gets the request and writes the response, well-formed or not.
 */
#pragma once
#include "base/buf.h"
#include <stdbool.h>
#include <stddef.h>

struct test_server;

struct test_request {
    const char *head; /* request line and headers, as they came */
    const char *body;
    size_t body_len;
    int fd;         /* write the answer here */
    unsigned nth;   /* of all requests, from 0 */
    bool *stopping; /* set at the end of the test; checked by slow responses */
};

/* Writes the response; false closes the connection. Called by a thread of the server. */
typedef bool (*test_answer)(void *ctx, const struct test_request *r);

int test_server_new(struct test_server **out, test_answer answer, void *ctx);
void test_server_free(struct test_server **s);
const char *test_server_url(const struct test_server *s); /* without a slash at its end */
unsigned test_server_connections(const struct test_server *s);

/* A whole answer; `headers` end with CRLF each, or "". */
void test_reply(int fd, int status, const char *headers, const void *body, size_t len);
/* The request's header line begins with that. */
bool test_has_header(const struct test_request *r, const char *line);
