#include "serve/connections.h"
#include <arpa/inet.h>
#include <string.h>

static const u8 mapped_prefix[12] = {[10] = 0xff, [11] = 0xff}; /* ::ffff:a.b.c.d (RFC 4291, 2.5.5.2) */

/* As an IPv6 address, whichever it is. */
static void address_of(const struct sockaddr *from, u8 out[16])
{
    memset(out, 0, 16);
    if (from && from->sa_family == AF_INET6) {
        memcpy(out, &((const struct sockaddr_in6 *)(const void *)from)->sin6_addr, 16);
    } else if (from && from->sa_family == AF_INET) {
        memcpy(out, mapped_prefix, sizeof(mapped_prefix));
        memcpy(out + 12, &((const struct sockaddr_in *)(const void *)from)->sin_addr, 4);
    }
}

static struct connection *find(struct connections *c, int fd)
{
    for (size_t i = 0; i < CONNECTIONS_MAX; i++)
        if (c->all[i].fd == fd + 1)
            return &c->all[i];
    return NULL;
}

static void close_it(struct connection *k)
{
    shutdown(k->fd - 1, SHUT_RDWR);
    k->fd = 0;
}

/* The one of an address that takes longest. *n: how many the address has. */
static struct connection *oldest_of(struct connections *c, const u8 from[16], size_t *n)
{
    struct connection *old = NULL;
    *n = 0;
    for (size_t i = 0; i < CONNECTIONS_MAX; i++) {
        struct connection *k = &c->all[i];
        if (!k->fd || memcmp(k->from, from, sizeof(k->from)) != 0)
            continue;
        ++*n;
        old = !old || k->since_ns < old->since_ns ? k : old;
    }
    return old;
}

/* The same of the address that has most; NULL: there is a free place. */
static struct connection *oldest_of_most(struct connections *c)
{
    struct connection *old = NULL;
    size_t most = 0, n;
    for (size_t i = 0; i < CONNECTIONS_MAX; i++) {
        if (!c->all[i].fd)
            return NULL;
        struct connection *k = oldest_of(c, c->all[i].from, &n);
        old = n > most ? k : old;
        most = n > most ? n : most;
    }
    return old;
}

static void expire(struct connections *c, u64 now)
{
    for (size_t i = 0; i < CONNECTIONS_MAX; i++)
        if (c->all[i].fd && now - c->all[i].since_ns > CONNECTIONS_REQUEST_NS)
            close_it(&c->all[i]);
}

void connections_begin(struct connections *c, int fd, const struct sockaddr *from, u64 now)
{
    struct connection new = {.fd = fd + 1, .since_ns = now}, *old;
    size_t n;
    address_of(from, new.from);
    expire(c, now);
    old = oldest_of(c, new.from, &n);
    if (n < CONNECTIONS_PER_ADDRESS)
        old = oldest_of_most(c);
    if (old)
        close_it(old);
    *find(c, -1) = new;
}

void connections_answered(struct connections *c, int fd, u64 now)
{
    struct connection *k = find(c, fd);
    if (k)
        k->since_ns = now;
}

void connections_end(struct connections *c, int fd)
{
    struct connection *k = find(c, fd);
    if (k)
        k->fd = 0;
}
