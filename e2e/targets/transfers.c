/* Moves bytes in each way that the kernel has, each in a function of its own, and prints what it moved:
 * `KIND FUNCTION CALLS IN OUT SORT`, with kind `file` or `net`; sort: the protocol, or file system; -: there are
 * several. Usage: transfers FOLDER [SECONDS to wait first].
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define ROUNDS 300
#define WAY    __attribute__((noinline)) static void

static char buffer[1 << 16];
static long calls, in, out;

static void check(ssize_t n, long *sum)
{
    calls++;
    if (n > 0)
        *sum += n;
}

static int folder_fd;
static int open_new(const char *name)
{
    return openat(folder_fd, name, O_RDWR | O_CREAT | O_TRUNC, 0600);
}

static int file, other, pair[2], tube[2];

WAY with_write(void)
{
    for (int i = 0; i < ROUNDS; i++)
        check(write(file, buffer, 1000 + (size_t)i), &out);
}
WAY with_pwrite(void)
{
    for (int i = 0; i < ROUNDS; i++)
        check(pwrite(file, buffer, 4096, 4096L * i), &out);
}
WAY with_writev(void)
{
    struct iovec v[] = {{buffer, 10}, {buffer, 300}};
    for (int i = 0; i < ROUNDS; i++)
        check(writev(file, v, 2), &out);
}
WAY with_read(void) /* the last ones get less than they ask for, or nothing */
{
    lseek(file, 0, SEEK_SET);
    for (int i = 0; i < ROUNDS; i++)
        check(read(file, buffer, 60000), &in);
}
WAY with_pread(void)
{
    for (int i = 0; i < ROUNDS; i++)
        check(pread(file, buffer, 333, i), &in);
}
WAY with_preadv2(void)
{
    struct iovec v[] = {{buffer, 10}, {buffer, 300}};
    for (int i = 0; i < ROUNDS; i++)
        check(preadv2(file, v, 2, i, 0), &in);
}
WAY with_errors(void)
{
    void *volatile nowhere = (void *)8;
    for (int i = 0; i < ROUNDS; i++)
        check(pread(file, nowhere, 4096, 0), &in); /* EFAULT */
}
WAY with_copy_file_range(void)
{
    for (int i = 0; i < ROUNDS; i++) {
        off_t from = 0, to = 5000L * i;
        ssize_t n = copy_file_range(file, &from, other, &to, 5000, 0);
        check(n, &in);
        out += n > 0 ? n : 0;
    }
}
WAY with_splice(void) /* from a file to a pipe and from there to a file */
{
    for (int i = 0; i < ROUNDS; i++) {
        off_t from = 0, to = 0;
        ssize_t n = splice(file, &from, tube[1], NULL, 4096, 0);
        check(n, &in);
        out += n;
        n = splice(tube[0], NULL, other, &to, 4096, 0);
        check(n, &in);
        out += n;
    }
}
WAY with_pipe(void)
{
    for (int i = 0; i < ROUNDS; i++) {
        check(write(tube[1], buffer, 777), &out);
        check(read(tube[0], buffer, 60000), &in);
    }
}
WAY with_fsync(void)
{
    for (int i = 0; i < 3; i++) {
        fsync(other);
        calls++;
    }
}
WAY with_stat(void)
{
    struct stat s;
    for (int i = 0; i < ROUNDS; i++) {
        fstatat(folder_fd, i % 2 ? "file" : "missing", &s, 0);
        calls++;
    }
}
/* One end is a file, the other one a socket: each kind has its own end. */
WAY with_sendfile(void)
{
    for (int i = 0; i < ROUNDS; i++) {
        off_t from = 0;
        check(sendfile(pair[0], file, &from, 2000), &in);
        recv(pair[1], buffer, 60000, 0);
    }
}
WAY with_send(void)
{
    for (int i = 0; i < ROUNDS; i++) {
        check(send(pair[0], buffer, 500, 0), &out);
        check(recv(pair[1], buffer, 60000, MSG_PEEK), &(long){0});
        check(recv(pair[1], buffer, 60000, 0), &in);
    }
}
WAY with_sockets_written(void)
{
    for (int i = 0; i < ROUNDS; i++) {
        check(write(pair[0], buffer, 600), &out);
        check(read(pair[1], buffer, 60000), &in);
    }
}
WAY with_messages(void)
{
    struct iovec v = {buffer, 444};
    struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1};
    for (int i = 0; i < ROUNDS; i++) {
        check(sendmsg(pair[0], &m, 0), &out);
        check(recvmsg(pair[1], &m, 0), &in);
    }
}
WAY with_many_messages(void)
{
    struct iovec v[3] = {{buffer, 100}, {buffer, 200}, {buffer, 300}};
    struct mmsghdr m[3];
    for (int i = 0; i < ROUNDS; i++) {
        for (int k = 0; k < 3; k++)
            m[k] = (struct mmsghdr){.msg_hdr = {.msg_iov = &v[k], .msg_iovlen = 1}};
        calls++;
        if (sendmmsg(pair[0], m, 3, 0) == 3)
            out += 600;
        check(recv(pair[1], buffer, 60000, 0), &in);
    }
}

/* A socket of the loopback device. */
static int bound(int type, struct sockaddr_in *to)
{
    socklen_t len = sizeof(*to);
    int s = socket(AF_INET, type, 0);
    *to = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    if (s < 0 || bind(s, (struct sockaddr *)to, sizeof(*to)) || getsockname(s, (struct sockaddr *)to, &len))
        exit(1);
    return s;
}
WAY with_tcp(void)
{
    struct sockaddr_in to;
    int listener = bound(SOCK_STREAM, &to), client = socket(AF_INET, SOCK_STREAM, 0);
    if (listen(listener, 1) || connect(client, (struct sockaddr *)&to, sizeof(to)))
        exit(1);
    int server = accept(listener, NULL, NULL);
    calls += 2;
    for (int i = 0; i < ROUNDS; i++) {
        check(send(client, buffer, 700, 0), &out);
        check(recv(server, buffer, 700, MSG_WAITALL), &in);
    }
}
WAY with_udp(void)
{
    struct sockaddr_in to, from;
    int a = bound(SOCK_DGRAM, &to), b = bound(SOCK_DGRAM, &from);
    for (int i = 0; i < ROUNDS; i++) {
        check(sendto(b, buffer, 800, 0, (struct sockaddr *)&to, sizeof(to)), &out);
        check(recvfrom(a, buffer, 60000, 0, NULL, NULL), &in);
    }
}

static void run(const char *kind, const char *name, void (*way)(void), const char *sort)
{
    calls = in = out = 0;
    way();
    printf("%s %s %ld %ld %ld %s\n", kind, name, calls, in, out, sort);
}
#define RUN(kind, way, sort) run(kind, #way, way, sort)

int main(int argc, char **argv)
{
    folder_fd = open(argc > 1 ? argv[1] : ".", O_RDONLY | O_DIRECTORY);
    sleep(argc > 2 ? (unsigned)atoi(argv[2]) : 0);
    file = open_new("file");
    other = open_new("other");
    if (folder_fd < 0 || file < 0 || other < 0 || pipe(tube) || socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
        return 1;
    RUN("file", with_write, "files");
    RUN("file", with_pwrite, "files");
    RUN("file", with_writev, "files");
    RUN("file", with_read, "files");
    RUN("file", with_pread, "files");
    RUN("file", with_preadv2, "files");
    RUN("file", with_errors, "files");
    RUN("file", with_copy_file_range, "files");
    RUN("file", with_splice, "-");
    RUN("file", with_pipe, "pipefs");
    RUN("file", with_fsync, "files");
    RUN("file", with_stat, "-");
    RUN("file", with_sendfile, "files");
    RUN("net", with_send, "unix");
    RUN("net", with_sockets_written, "unix");
    RUN("net", with_messages, "unix");
    RUN("net", with_many_messages, "unix");
    RUN("net", with_tcp, "tcp");
    RUN("net", with_udp, "udp");
    printf("net with_sendfile %d %ld %ld unix\n", 2 * ROUNDS, 2000L * ROUNDS, 2000L * ROUNDS); /* the sockets' ends */
    fflush(stdout);
    usleep(300000); /* a file whose process has ended cannot be opened, and its functions have no names */
    return 0;
}
