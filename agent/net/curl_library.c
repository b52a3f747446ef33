#include "net/curl_library.h"
#include "base/library.h"

int curl_library_load(struct curl_library *out)
{
#define CURL_FUNCTION(name) {"curl_" #name, offsetof(struct curl_library, name)},
    static const struct library_function functions[] = {CURL_FUNCTIONS(CURL_FUNCTION){NULL, 0}};
    return library_load("libcurl.so.4", functions, out);
}
