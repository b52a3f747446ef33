#include "net/proxy.h"
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct proxy_config proxy_config_of(const char *url, const char *except)
{
    if (url && !strcmp(url, PROXY_OFF))
        return (struct proxy_config){0};
    return (struct proxy_config){.url = url, .except = except, .environment = 1};
}

/* An empty variable is none. */
static const char *variable(const char *lower, const char *upper)
{
    const char *value = getenv(lower);
    if (!value || !*value)
        value = getenv(upper);
    return value && *value ? value : NULL;
}

static bool copy(char **out, const char *s)
{
    *out = s ? strdup(s) : NULL;
    return *out || !s;
}

int proxy_resolve(struct proxy *out, const struct proxy_config *c)
{
    const char *http = c->url, *https = c->url, *except = c->except;
    *out = (struct proxy){0};
    if (!c->url && c->environment) {
        const char *all = variable("all_proxy", "ALL_PROXY");
        http = variable("http_proxy", "HTTP_PROXY");
        https = variable("https_proxy", "HTTPS_PROXY");
        http = http ? http : all;
        https = https ? https : all;
    }
    if (!except && c->environment)
        except = variable("no_proxy", "NO_PROXY");
    return copy(&out->http, http) && copy(&out->https, https) && copy(&out->except, except) ? 0 : -ENOMEM;
}

void proxy_free(struct proxy *p)
{
    free(p->http);
    free(p->https);
    free(p->except);
    *p = (struct proxy){0};
}

const char *proxy_for(const struct proxy *p, const char *url)
{
    const char *proxy = strncasecmp(url, "https:", 6) ? p->http : p->https;
    return proxy ? proxy : "";
}
