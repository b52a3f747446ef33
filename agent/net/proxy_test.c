#include "net/proxy.h"
#include "base/cleanup.h"
#include "base/test.h"
#include <stdlib.h>

static const char *const variables[] = {"http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY",
                                        "all_proxy",  "ALL_PROXY",  "no_proxy",    "NO_PROXY"};

/* "NAME=VALUE" each; all others are unset. */
static void set_environment(const char *const *set)
{
    for (size_t i = 0; i < sizeof(variables) / sizeof(*variables); i++)
        unsetenv(variables[i]);
    for (; *set; set++) {
        char name[64];
        snprintf(name, sizeof(name), "%.*s", (int)strcspn(*set, "="), *set);
        setenv(name, strchr(*set, '=') + 1, 1);
    }
}

/* What is resolved in such an environment: "HTTP HTTPS EXCEPT". */
static const char *resolved(const struct proxy_config *c, const char *const *set)
{
    static char text[256];
    struct proxy p;
    set_environment(set);
    int rc = proxy_resolve(&p, c);
    set_environment((const char *const[]){NULL});
    snprintf(text, sizeof(text), "%s %s %s", rc ? "error" : proxy_for(&p, "http://a/b"), proxy_for(&p, "HTTPS://a/b"),
             p.except ? p.except : "-");
    proxy_free(&p);
    return text;
}
#define ENV(...) ((const char *const[]){__VA_ARGS__, NULL})

TEST(proxy_of_the_environment)
{
    struct proxy_config by_environment = proxy_config_of(NULL, NULL);
    CHECK_STR(resolved(&by_environment, ENV(NULL)), "  -");
    CHECK_STR(resolved(&by_environment, ENV("HTTPS_PROXY=s", "HTTP_PROXY=h", "NO_PROXY=n")), "h s n");
    CHECK_STR(resolved(&by_environment, ENV("HTTPS_PROXY=S", "https_proxy=s", "NO_PROXY=N", "no_proxy=n")), " s n");
    CHECK_STR(resolved(&by_environment, ENV("ALL_PROXY=a", "HTTP_PROXY=h")), "h a -");
    CHECK_STR(resolved(&by_environment, ENV("HTTPS_PROXY=", "https_proxy=")), "  -");
}

TEST(proxy_of_options)
{
    struct proxy_config proxy = proxy_config_of("p", NULL), off = proxy_config_of("off", NULL),
                        both = proxy_config_of("p", "x,y"), except = proxy_config_of(NULL, ""), none = {0};
    const char *const set[] = {"HTTPS_PROXY=s", "HTTP_PROXY=h", "NO_PROXY=n", NULL};
    CHECK_STR(resolved(&proxy, set), "p p n"); /* the hosts of the environment are still its own */
    CHECK_STR(resolved(&off, set), "  -");
    CHECK_STR(resolved(&both, set), "p p x,y");
    CHECK_STR(resolved(&except, set), "h s "); /* and nothing is excepted */
    CHECK_STR(resolved(&none, set), "  -");
}
