/* Moves known numbers of bytes by io_uring, in a function for each way, and says how many, like transfers.c:
 *     KIND FUNCTION COMPLETIONS IN OUT SORT
 * KIND is file or net; SORT is the leaf of the stacks.   rings FOLDER [sqpoll]
 */
#include <fcntl.h>
#include <linux/io_uring.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define ENTRIES 64
#define BIG     65536

struct ring {
    int fd;
    unsigned *sq_tail, *sq_mask, *sq_array, *cq_head, *cq_tail, *cq_mask, *sq_flags;
    struct io_uring_sqe *sqes;
    struct io_uring_cqe *cqes;
    int polled;
};
static char buffer[BIG];

static void check(int good, const char *what)
{
    if (good)
        return;
    perror(what);
    exit(1);
}

static void open_ring(struct ring *r, int polled)
{
    struct io_uring_params p = {.flags = polled ? IORING_SETUP_SQPOLL : 0, .sq_thread_idle = 100};
    r->polled = polled;
    r->fd = (int)syscall(SYS_io_uring_setup, ENTRIES, &p);
    check(r->fd >= 0, "io_uring_setup");
    size_t size = p.cq_off.cqes + p.cq_entries * sizeof(struct io_uring_cqe), array = p.sq_off.array + 4 * p.sq_entries;
    char *all = mmap(0, size > array ? size : array, PROT_READ | PROT_WRITE, MAP_SHARED, r->fd, IORING_OFF_SQ_RING);
    check(all != MAP_FAILED, "mmap");
    r->sqes = mmap(0, p.sq_entries * sizeof(*r->sqes), PROT_READ | PROT_WRITE, MAP_SHARED, r->fd, IORING_OFF_SQES);
    check(r->sqes != MAP_FAILED, "mmap");
    r->sq_tail = (void *)(all + p.sq_off.tail);
    r->sq_mask = (void *)(all + p.sq_off.ring_mask);
    r->sq_array = (void *)(all + p.sq_off.array);
    r->sq_flags = (void *)(all + p.sq_off.flags);
    r->cq_head = (void *)(all + p.cq_off.head);
    r->cq_tail = (void *)(all + p.cq_off.tail);
    r->cq_mask = (void *)(all + p.cq_off.ring_mask);
    r->cqes = (void *)(all + p.cq_off.cqes);
}

/* Never inlined into the functions that are told apart, which do not end in a call of it. */
static __attribute__((noinline)) void submit(struct ring *r, const struct io_uring_sqe *sqe)
{
    unsigned tail = *r->sq_tail, at = tail & *r->sq_mask;
    r->sqes[at] = *sqe;
    r->sq_array[at] = at;
    __atomic_store_n(r->sq_tail, tail + 1, __ATOMIC_SEQ_CST);
    unsigned flags = r->polled ? IORING_ENTER_SQ_WAKEUP : 0;
    if (!r->polled || __atomic_load_n(r->sq_flags, __ATOMIC_SEQ_CST) & IORING_SQ_NEED_WAKEUP)
        check(syscall(SYS_io_uring_enter, r->fd, 1, 0, flags, NULL, 0) >= 0, "io_uring_enter");
}

/* Returns the result of the next completion. */
static __attribute__((noinline)) int complete(struct ring *r)
{
    while (__atomic_load_n(r->cq_tail, __ATOMIC_ACQUIRE) == *r->cq_head)
        check(syscall(SYS_io_uring_enter, r->fd, 0, 1, IORING_ENTER_GETEVENTS, NULL, 0) >= 0, "io_uring_enter");
    int result = r->cqes[*r->cq_head & *r->cq_mask].res;
    __atomic_store_n(r->cq_head, *r->cq_head + 1, __ATOMIC_RELEASE);
    return result;
}

static int run(struct ring *r, const struct io_uring_sqe *sqe)
{
    submit(r, sqe);
    return complete(r);
}

#define WAY static __attribute__((noinline)) void
static struct io_uring_sqe op(int opcode, int fd, const void *at, unsigned len, unsigned long long offset)
{
    struct io_uring_sqe s = {0};
    s.opcode = (unsigned char)opcode;
    s.fd = fd;
    s.addr = (uintptr_t)at;
    s.len = len;
    s.off = offset;
    return s;
}

WAY with_write(struct ring *r, int fd)
{
    for (int i = 0; i < 100; i++) {
        struct io_uring_sqe s = op(IORING_OP_WRITE, fd, buffer, 1000, 1000ull * (unsigned)i);
        check(run(r, &s) == 1000, "write");
    }
    puts("file with_write 100 0 100000 files");
}

/* 64 at once; the last 10 of them reach beyond the end of the file. */
WAY with_read(struct ring *r, int fd)
{
    long sum = 0;
    for (int i = 0; i < ENTRIES; i++) {
        struct io_uring_sqe s = op(IORING_OP_READ, fd, buffer, 2000, 1800ull * (unsigned)i);
        submit(r, &s);
    }
    for (int i = 0; i < ENTRIES; i++)
        sum += complete(r);
    printf("file with_read %d %ld 0 files\n", ENTRIES, sum);
}

WAY with_vectors(struct ring *r, int fd)
{
    struct iovec v[2] = {{buffer, 300}, {buffer + 300, 400}};
    struct io_uring_sqe w = op(IORING_OP_WRITEV, fd, v, 2, 0), d = op(IORING_OP_READV, fd, v, 2, 50);
    check(run(r, &w) == 700 && run(r, &d) == 700, "vectors");
    puts("file with_vectors 2 700 700 files");
}

WAY with_fixed(struct ring *r, int fd)
{
    struct iovec v = {buffer, BIG};
    check(!syscall(SYS_io_uring_register, r->fd, IORING_REGISTER_BUFFERS, &v, 1), "buffers");
    check(!syscall(SYS_io_uring_register, r->fd, IORING_REGISTER_FILES, &fd, 1), "files");
    struct io_uring_sqe w = op(IORING_OP_WRITE_FIXED, 0, buffer, 5000, 0),
                        d = op(IORING_OP_READ_FIXED, 0, buffer, 4000, 0);
    w.flags = d.flags = IOSQE_FIXED_FILE;
    check(run(r, &w) == 5000 && run(r, &d) == 4000, "fixed");
    puts("file with_fixed 2 4000 5000 files");
}

WAY with_fsync(struct ring *r, int fd)
{
    struct io_uring_sqe s = op(IORING_OP_FSYNC, fd, NULL, 0, 0);
    check(run(r, &s) == 0, "fsync");
    puts("file with_fsync 1 0 0 files");
}

WAY with_pipe(struct ring *r)
{
    int p[2];
    check(!pipe(p), "pipe");
    struct io_uring_sqe d = op(IORING_OP_READ, p[0], buffer, 500, -1), w = op(IORING_OP_WRITE, p[1], buffer, 77, -1);
    submit(r, &d); /* waits */
    submit(r, &w);
    check(complete(r) + complete(r) == 154, "pipe");
    puts("file with_pipe 2 77 77 pipefs");
}

WAY with_socket(struct ring *r, const int s[2])
{
    struct io_uring_sqe w = op(IORING_OP_SEND, s[0], buffer, 900, 0), look = op(IORING_OP_RECV, s[1], buffer, 900, 0);
    struct io_uring_sqe d = look;
    look.msg_flags = MSG_PEEK;
    check(run(r, &w) == 900 && run(r, &look) == 900 && run(r, &d) == 900, "socket");
    struct iovec v = {buffer, 60};
    struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1};
    w = op(IORING_OP_SENDMSG, s[0], &m, 1, 0);
    d = op(IORING_OP_RECVMSG, s[1], &m, 1, 0);
    check(run(r, &w) == 60 && run(r, &d) == 60, "messages");
    w = op(IORING_OP_WRITE, s[0], buffer, 40, 0); /* a socket is one, whatever it is written by */
    d = op(IORING_OP_READ, s[1], buffer, 40, 0);
    check(run(r, &w) == 40 && run(r, &d) == 40, "write");
    puts("net with_socket 7 1000 1000 unix");
}

/* One request that completes for each message, into buffers of the kernel's choice; the messages are sent by calls. */
WAY with_many(struct ring *r, const int s[2])
{
    static char pool[8][256];
    struct io_uring_sqe give = op(IORING_OP_PROVIDE_BUFFERS, 8, pool, 256, 0), d = op(IORING_OP_RECV, s[1], NULL, 0, 0);
    give.buf_group = 1;
    check(run(r, &give) >= 0, "buffers");
    d.flags = IOSQE_BUFFER_SELECT;
    d.buf_group = 1;
    d.ioprio = IORING_RECV_MULTISHOT;
    d.user_data = 4711;
    submit(r, &d);
    for (int i = 0; i < 5; i++) {
        check(send(s[0], buffer, 100 + (size_t)i, 0) == 100 + i, "send");
        check(complete(r) == 100 + i, "multishot");
    }
    shutdown(s[0], SHUT_WR);
    check(complete(r) == 0, "end");
    puts("net with_many 11 510 510 unix");
}

WAY with_zero_copy(struct ring *r)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(a);
    int l = socket(AF_INET, SOCK_STREAM, 0), c = socket(AF_INET, SOCK_STREAM, 0);
    check(!bind(l, (void *)&a, len) && !listen(l, 1) && !getsockname(l, (void *)&a, &len), "listen");
    struct io_uring_sqe to = op(IORING_OP_CONNECT, c, &a, 0, len), from = op(IORING_OP_ACCEPT, l, NULL, 0, 0);
    check(run(r, &to) == 0, "connect");
    int s = run(r, &from);
    struct io_uring_sqe w = op(IORING_OP_SEND_ZC, c, buffer, 3000, 0), d = op(IORING_OP_RECV, s, buffer, 3000, 0);
    d.msg_flags = MSG_WAITALL;
    check(s >= 0 && run(r, &w) == 3000 && run(r, &d) >= 0, "zero copy");
    puts("net with_zero_copy 4 3000 3000 tcp");
}

int main(int argc, char **argv)
{
    struct ring r, own;
    int s[2], many[2];
    char path[4096];
    open_ring(&r, argc > 2);
    open_ring(&own, 0);
    snprintf(path, sizeof(path), "%s/rings.data", argv[1]);
    int fd = open(path, O_CREAT | O_TRUNC | O_RDWR, 0600);
    check(fd >= 0 && !socketpair(AF_UNIX, SOCK_STREAM, 0, s) && !socketpair(AF_UNIX, SOCK_STREAM, 0, many), "open");
    with_write(&r, fd);
    with_read(&r, fd);
    with_vectors(&r, fd);
    with_fixed(&r, fd);
    with_fsync(&r, fd);
    with_pipe(&r);
    with_socket(&r, s);
    with_many(&r, many);
    with_zero_copy(&own);
    unlink(path);
    return fflush(stdout) != 0;
}
