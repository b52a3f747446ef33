#include "base/packet.h"
#include "base/cleanup.h"
#include "base/test.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

struct pair {
    int end[2];
};

static void pair_free(struct pair *p)
{
    xp_cleanup_close(&p->end[0]);
    xp_cleanup_close(&p->end[1]);
}
#define AUTO_PAIR CLEANUP(pair_free) struct pair

static bool pair_new(struct pair *p)
{
    p->end[0] = p->end[1] = -1;
    return !socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, p->end);
}

static void close_all(int fds[PACKET_MAX_FDS])
{
    for (unsigned i = 0; i < PACKET_MAX_FDS; i++)
        xp_cleanup_close(&fds[i]);
}

/* Is it the same file as that of `fd`? */
static bool is_same(int a, int b)
{
    struct stat x, y;
    return !fstat(a, &x) && !fstat(b, &y) && x.st_ino == y.st_ino && x.st_dev == y.st_dev;
}

TEST(packets_carry_descriptors)
{
    for (unsigned n = 0; n <= PACKET_MAX_FDS; n++) {
        AUTO_PAIR p;
        int sent[PACKET_MAX_FDS], got[PACKET_MAX_FDS];
        char text[8] = "";
        CHECK(pair_new(&p));
        for (unsigned i = 0; i < n; i++)
            sent[i] = memfd_create("sent", MFD_CLOEXEC);
        CHECK_EQ(packet_send(p.end[0], "1234567", 8, sent, n), 0);
        CHECK_EQ(packet_recv(p.end[1], text, 8, got), 0);
        CHECK_STR(text, "1234567");
        for (unsigned i = 0; i < PACKET_MAX_FDS; i++)
            CHECK(i < n ? is_same(got[i], sent[i]) && fcntl(got[i], F_GETFD) == FD_CLOEXEC : got[i] == -1);
        close_all(got);
        for (unsigned i = 0; i < n; i++)
            close(sent[i]);
    }
}

/* What is not as it should be is dropped with all that came with it. */
TEST(packets_of_another_size_are_refused)
{
    static const size_t sizes[] = {7, 9, 1};
    AUTO_PAIR p;
    AUTO_CLOSE int fd = memfd_create("sent", MFD_CLOEXEC);
    int got[PACKET_MAX_FDS], many[PACKET_MAX_FDS + 1];
    char text[8];
    CHECK(pair_new(&p));
    for (size_t i = 0; i < 3; i++) {
        CHECK_EQ(packet_send(p.end[0], "12345678", sizes[i], &fd, 1), 0);
        CHECK_EQ(packet_recv(p.end[1], text, 8, got), -EPROTO);
        for (unsigned k = 0; k < PACKET_MAX_FDS; k++)
            CHECK_EQ(got[k], -1);
    }
    union {
        struct cmsghdr head;
        char space[CMSG_SPACE(sizeof(many))];
    } control = {.head = {.cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(sizeof(many))}};
    struct iovec iov = {text, 8};
    struct msghdr m = {.msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)};
    for (unsigned k = 0; k <= PACKET_MAX_FDS; k++)
        many[k] = fd;
    memcpy(CMSG_DATA(&control.head), many, sizeof(many));
    CHECK_EQ(sendmsg(p.end[0], &m, 0), 8);
    CHECK_EQ(packet_recv(p.end[1], text, 8, got), -EPROTO);
    CHECK_EQ(got[0], -1);
}

TEST(packets_without_anybody_there)
{
    AUTO_PAIR p;
    int got[PACKET_MAX_FDS];
    char text[8];
    CHECK(pair_new(&p));
    close(p.end[0]);
    p.end[0] = -1;
    CHECK_EQ(packet_send(p.end[1], "1", 1, NULL, 0), -EPIPE);
    CHECK_EQ(packet_recv(p.end[1], text, 8, got), -EPIPE);
    CHECK_EQ(got[0], -1);
    CHECK_EQ(packet_send(-1, "1", 1, NULL, 0), -EBADF);
    CHECK_EQ(packet_recv(-1, text, 8, got), -EBADF);
    CHECK_EQ(got[PACKET_MAX_FDS - 1], -1);
}

/* It left without having read what it was sent. */
TEST(packets_that_nobody_has_read)
{
    AUTO_PAIR p;
    int got[PACKET_MAX_FDS];
    char text[8];
    CHECK(pair_new(&p));
    CHECK_EQ(packet_send(p.end[1], "1", 1, NULL, 0), 0);
    close(p.end[0]);
    p.end[0] = -1;
    CHECK_EQ(packet_recv(p.end[1], text, 8, got), -EPIPE); /* ECONNRESET */
}
