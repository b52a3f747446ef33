/* The functions of libcurl, which is loaded for the first client (base/library.h).
 */
#pragma once
#define CURL_DISABLE_TYPECHECK
#include <curl/curl.h>

/* clang-format off */
#define CURL_FUNCTIONS(X) \
    X(global_init) X(global_cleanup) X(slist_append) X(slist_free_all) \
    X(easy_init) X(easy_cleanup) X(easy_setopt) X(easy_getinfo) X(easy_strerror) \
    X(multi_init) X(multi_cleanup) X(multi_setopt) X(multi_add_handle) X(multi_remove_handle) X(multi_perform) \
    X(multi_info_read) X(multi_poll)
/* clang-format on */

struct curl_library {
#define CURL_POINTER(name) __typeof__(curl_##name) *(name);
    CURL_FUNCTIONS(CURL_POINTER)
};

/* Returns 0; -ELIBACC, -ELIBBAD: it is not installed, or another one. */
int curl_library_load(struct curl_library *out);
/* The -errno of http_call for the result of a transfer. */
int curl_library_error(const struct curl_library *c, CURLcode code, CURL *e);
