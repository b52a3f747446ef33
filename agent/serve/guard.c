#include "serve/guard.h"
#include "base/cleanup.h"
#include "base/fs.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

#define TOKEN_MAX 4096
#define SCHEME    "Bearer "

static bool is_loopback(const struct sockaddr *from)
{
    const struct sockaddr_in *v4 = (const void *)from;
    const struct sockaddr_in6 *v6 = (const void *)from;
    if (from->sa_family == AF_INET)
        return ntohl(v4->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
    if (from->sa_family != AF_INET6)
        return false;
    if (IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr))
        return v6->sin6_addr.s6_addr[12] == IN_LOOPBACKNET;
    return IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr);
}

/* Takes as long for a token that is nearly right as for one that is not: it depends on what was sent only. */
static bool same_token(const char *sent, const char *token)
{
    size_t n = strlen(token);
    unsigned char differs = n ? 0 : 1; /* an empty file lets nobody in */
    for (size_t i = 0; i < strlen(sent); i++)
        differs |= (unsigned char)(sent[i] ^ token[i < n ? i : 0]);
    return !differs && strlen(sent) == n;
}

enum guard guard_request(const struct sockaddr *from, const char *authorization, const char *token_file)
{
    AUTO_FREE char *token = NULL;
    if (is_loopback(from))
        return GUARD_PASS;
    if (!token_file || !authorization || strncasecmp(authorization, SCHEME, strlen(SCHEME)) != 0)
        return GUARD_NO_TOKEN;
    if (fs_read_file(token_file, TOKEN_MAX, &token, NULL))
        return GUARD_WRONG_TOKEN;
    token[strcspn(token, "\r\n")] = 0;
    const char *sent = authorization + strlen(SCHEME);
    return same_token(sent + strspn(sent, " "), token) ? GUARD_PASS : GUARD_WRONG_TOKEN;
}
