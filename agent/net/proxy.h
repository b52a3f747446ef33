/* Chooses the proxy of a request, by options or by the environment, as most clients do: HTTPS_PROXY for https://,
 * HTTP_PROXY for http://, ALL_PROXY for both, NO_PROXY for hosts that are reached directly. Each also in lower case,
 * which is looked at first.
 */
#pragma once

#define PROXY_OFF "off"

struct proxy_config {   /* strings are copied; {0}: no proxy */
    const char *url;    /* http://, https:// or socks5h://[USER:PASSWORD@]HOST:PORT */
    const char *except; /* hosts that are reached directly: names (and all below them), addresses, networks; "*": all */
    int environment;    /* what is NULL above comes from the environment */
};
/* As options have it: NULL: by the environment; PROXY_OFF: none. */
struct proxy_config proxy_config_of(const char *url, const char *except);

struct proxy {
    char *http, *https; /* for URLs of that scheme; NULL: none */
    char *except;
};
/* 0 or -ENOMEM; *out must be freed in both cases. */
int proxy_resolve(struct proxy *out, const struct proxy_config *config);
void proxy_free(struct proxy *p);
/* The proxy for a URL, or "". */
const char *proxy_for(const struct proxy *p, const char *url);
