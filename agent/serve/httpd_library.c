#include "serve/httpd_library.h"
#include "base/library.h"

int httpd_library_load(struct httpd_library *out)
{
#define HTTPD_FUNCTION(name) {"MHD_" #name, offsetof(struct httpd_library, name)},
    static const struct library_function functions[] = {HTTPD_FUNCTIONS(HTTPD_FUNCTION){NULL, 0}};
    return library_load("libmicrohttpd.so.12", functions, out);
}
