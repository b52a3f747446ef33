/* The functions of libmicrohttpd, which is loaded for the first server (base/library.h).
 */
#pragma once
#include <microhttpd.h>

/* clang-format off */
#define HTTPD_FUNCTIONS(X) \
    X(start_daemon) X(stop_daemon) X(get_daemon_info) X(get_connection_info) \
    X(lookup_connection_value) X(lookup_connection_value_n) X(queue_response) \
    X(create_response_from_buffer) X(add_response_header) X(destroy_response)
/* clang-format on */

struct httpd_library {
#define HTTPD_POINTER(name) __typeof__(MHD_##name) *(name);
    HTTPD_FUNCTIONS(HTTPD_POINTER)
};

/* Returns 0; -ELIBACC, -ELIBBAD: it is not installed, or another one. */
int httpd_library_load(struct httpd_library *out);
