#include "net/curl_library.h"
#include "base/library.h"
#include <errno.h>

int curl_library_load(struct curl_library *out)
{
#define CURL_FUNCTION(name) {"curl_" #name, offsetof(struct curl_library, name)},
    static const struct library_function functions[] = {CURL_FUNCTIONS(CURL_FUNCTION){NULL, 0}};
    return library_load("libcurl.so.4", functions, out);
}

static int connect_error(const struct curl_library *c, CURL *e)
{
    long number = 0;
    c->easy_getinfo(e, CURLINFO_OS_ERRNO, &number);
    return number == ETIMEDOUT                               ? -ETIMEDOUT
           : number == EHOSTUNREACH || number == ENETUNREACH ? -EHOSTUNREACH
                                                             : -ECONNREFUSED;
}

int curl_library_error(const struct curl_library *c, CURLcode code, CURL *e)
{
    switch (code) {
    case CURLE_OK:
        return 0;
    case CURLE_URL_MALFORMAT:
        return -EINVAL;
    case CURLE_OUT_OF_MEMORY:
        return -ENOMEM;
    case CURLE_COULDNT_CONNECT:
        return connect_error(c, e);
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
        return -EHOSTUNREACH;
    case CURLE_OPERATION_TIMEDOUT:
        return -ETIMEDOUT;
    case CURLE_GOT_NOTHING:
    case CURLE_PARTIAL_FILE:
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR:
        return -ECONNRESET;
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_ISSUER_ERROR:
    case CURLE_SSL_INVALIDCERTSTATUS:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_WEIRD_SERVER_REPLY:
    case CURLE_UNSUPPORTED_PROTOCOL: /* an answer that is not HTTP, or a URL that is not */
    case CURLE_BAD_CONTENT_ENCODING:
    case CURLE_HTTP2:
    case CURLE_HTTP2_STREAM:
    case CURLE_WRITE_ERROR: /* not ours, see `failed`: a body that cannot be decoded */
        return -EPROTO;
    default:
        return -EIO;
    }
}
