#include "base/packet.h"
#include "base/cleanup.h"
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

union control { /* aligned as the kernel wants it */
    struct cmsghdr head;
    char space[CMSG_SPACE(PACKET_MAX_FDS * sizeof(int))];
};

int packet_send(int sock, const void *data, size_t len, const int *fds, unsigned nfds)
{
    union control control = {0};
    struct iovec iov = {.iov_base = (void *)data, .iov_len = len};
    struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
    if (nfds) {
        msg.msg_control = control.space;
        msg.msg_controllen = CMSG_SPACE(nfds * sizeof(int));
        control.head.cmsg_level = SOL_SOCKET;
        control.head.cmsg_type = SCM_RIGHTS;
        control.head.cmsg_len = CMSG_LEN(nfds * sizeof(int));
        memcpy(CMSG_DATA(&control.head), fds, nfds * sizeof(int));
    }
    ssize_t r;
    do
        r = sendmsg(sock, &msg, MSG_NOSIGNAL);
    while (r < 0 && errno == EINTR);
    if (r < 0)
        return errno == ECONNRESET ? -EPIPE : -errno;
    return (size_t)r == len ? 0 : -EPROTO;
}

/* Takes every descriptor that came, so that none leaks whatever the packet looks like. How many came. */
static unsigned take_fds(struct msghdr *msg, int fds[PACKET_MAX_FDS])
{
    unsigned n = 0;
    for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
            continue;
        size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < count; i++) {
            int fd;
            memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(int));
            if (n < PACKET_MAX_FDS)
                fds[n] = fd;
            else
                close(fd);
            n++;
        }
    }
    return n;
}

int packet_recv(int sock, void *data, size_t len, int fds[PACKET_MAX_FDS])
{
    union control control = {0};
    struct iovec iov = {.iov_base = data, .iov_len = len};
    struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
    msg.msg_control = control.space;
    msg.msg_controllen = sizeof(control.space);
    ssize_t r;
    do
        r = recvmsg(sock, &msg, MSG_CMSG_CLOEXEC);
    while (r < 0 && errno == EINTR);
    for (unsigned i = 0; i < PACKET_MAX_FDS; i++)
        fds[i] = -1;
    if (r < 0)
        return errno == ECONNRESET ? -EPIPE : -errno;
    unsigned n = take_fds(&msg, fds);
    if ((size_t)r == len && n <= PACKET_MAX_FDS && !(msg.msg_flags & (MSG_TRUNC | MSG_CTRUNC)))
        return 0;
    for (unsigned i = 0; i < PACKET_MAX_FDS; i++) {
        xp_cleanup_close(&fds[i]);
        fds[i] = -1;
    }
    return r ? -EPROTO : -EPIPE;
}
