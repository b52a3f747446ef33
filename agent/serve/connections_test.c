#include "serve/connections.h"
#include "base/cleanup.h"
#include "base/test.h"
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <unistd.h>

static const struct sockaddr *v4(const char *text)
{
    static struct sockaddr_in a;
    a = (struct sockaddr_in){.sin_family = AF_INET};
    inet_pton(AF_INET, text, &a.sin_addr);
    return (const struct sockaddr *)&a;
}

static const struct sockaddr *v6(const char *text)
{
    static struct sockaddr_in6 a;
    a = (struct sockaddr_in6){.sin6_family = AF_INET6};
    inet_pton(AF_INET6, text, &a.sin6_addr);
    return (const struct sockaddr *)&a;
}

#define MANY (2 * CONNECTIONS_MAX)
/* Connections to nobody: the other end of each tells whether it was closed. */
struct lines {
    struct connections all;
    int ours[MANY], theirs[MANY];
    int n;
};

static void lines_free(struct lines *l)
{
    for (int i = 0; i < l->n; i++) {
        close(l->ours[i]);
        close(l->theirs[i]);
    }
}
#define AUTO_LINES CLEANUP(lines_free) struct lines

/* Opens one; the number of it. */
static int open_line(struct lines *l, const struct sockaddr *from, u64 now)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair))
        return -1;
    l->ours[l->n] = pair[0];
    l->theirs[l->n] = pair[1];
    connections_begin(&l->all, pair[0], from, now);
    return l->n++;
}

static bool is_open(const struct lines *l, int i)
{
    char c;
    return recv(l->theirs[i], &c, 1, 0) < 0 && errno == EAGAIN;
}

TEST(connections_of_one_address_push_out_their_own)
{
    AUTO_LINES l = {0};
    int other = open_line(&l, v4("10.0.0.2"), 1);
    for (u64 i = 0; i < CONNECTIONS_PER_ADDRESS; i++)
        open_line(&l, v4("10.0.0.1"), 10 + i);
    CHECK(is_open(&l, 1));
    open_line(&l, v4("10.0.0.1"), 100);
    CHECK(!is_open(&l, 1) && is_open(&l, 2)); /* the oldest of that address */
    CHECK(is_open(&l, other));                /* which is not the oldest of all */
    open_line(&l, v6("::ffff:10.0.0.1"), 101);
    CHECK(!is_open(&l, 2)); /* the same address in another form */
}

/* Connections number `from` to `to` - 1, each from an address of its own: 10.0.9.NUMBER. */
static void open_singles(struct lines *l, int from, int to)
{
    char address[32];
    for (int i = from; i < to; i++) {
        snprintf(address, sizeof(address), "10.0.9.%d", i);
        open_line(l, v4(address), 1 + (u64)i);
    }
}

TEST(connections_of_whom_has_most_make_room_for_one_more)
{
    AUTO_LINES l = {0};
    open_singles(&l, 0, CONNECTIONS_MAX - 5);
    int first = open_line(&l, v4("10.0.0.1"), 1000);
    for (int i = 0; i < 4; i++)
        open_line(&l, v4(i % 2 ? "10.0.0.1" : "10.0.0.2"), 1001 + (u64)i);
    connections_answered(&l.all, l.ours[first], 2000); /* no longer the slowest of its three */
    open_line(&l, v6("fd00::1"), 3000);
    for (int i = 0; i < l.n; i++)
        CHECK_EQ(is_open(&l, i), i != first + 2);
}

TEST(connections_that_ended_leave_their_place)
{
    AUTO_LINES l = {0};
    open_singles(&l, 0, CONNECTIONS_MAX);
    connections_end(&l.all, l.ours[9]);
    connections_end(&l.all, l.ours[9]); /* of none */
    connections_answered(&l.all, l.ours[9], 1);
    open_line(&l, v6("fd00::1"), 3000);
    for (int i = 0; i < l.n; i++)
        CHECK(is_open(&l, i));
}

TEST(connections_end_when_a_request_takes_too_long)
{
    AUTO_LINES l = {0};
    u64 begin = 1000000;
    int slow = open_line(&l, v4("10.0.0.1"), begin), busy = open_line(&l, v4("10.0.0.1"), begin);
    connections_answered(&l.all, l.ours[busy], begin + CONNECTIONS_REQUEST_NS);
    open_line(&l, v4("10.0.0.2"), begin + CONNECTIONS_REQUEST_NS);
    CHECK(is_open(&l, slow));
    open_line(&l, v4("10.0.0.2"), begin + CONNECTIONS_REQUEST_NS + 1);
    CHECK(!is_open(&l, slow) && is_open(&l, busy));
}
