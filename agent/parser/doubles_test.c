#include "parser/doubles_test.h"
#include "base/cleanup.h"
#include "base/fs.h"
#include "opener/opener.h"
#include "parser/protocol.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

int file_saying(const char *order)
{
    return file_with(order, strlen(order));
}

int file_with(const void *data, size_t len)
{
    char path[64];
    AUTO_CLOSE int fd = memfd_create("order", MFD_CLOEXEC);
    if (fd < 0 || fs_write_all(fd, data, len))
        return -1;
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    return open(path, O_RDONLY | O_CLOEXEC);
}

static void read_order(int fd, char order[32])
{
    ssize_t n = pread(fd, order, 31, 0);
    order[n > 0 ? n : 0] = 0;
}

static int eat_memory(void)
{
    for (size_t i = 0; i < 64; i++) {
        volatile char *p = mmap(NULL, 16 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (p == MAP_FAILED)
            return -errno;
        p[0] = 1;
    }
    return 0;
}

static int fill_memfd(void)
{
    int fd = memfd_create("big", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    return fd < 0 || ftruncate(fd, (off_t)PARSER_MAX_REPLY + 1) ? -errno : 0;
}

static int obey(int fd, const u8 secret[16], struct table_key *out, struct merged_table **held)
{
    char order[32];
    read_order(fd, order);
    if (strcmp(order, "die") == 0)
        syscall(SYS_exit_group, 3);
    if (strcmp(order, "crash") == 0)
        __builtin_trap();
    for (volatile int i = 1; i && strcmp(order, "hang") == 0;)
        ;
    if (strcmp(order, "open") == 0)
        return open("/etc/hostname", O_RDONLY);
    if (strcmp(order, "eat") == 0)
        return eat_memory();
    if (strcmp(order, "fill") == 0)
        return fill_memfd();
    memcpy(out->digest, secret, sizeof(out->digest));
    return strcmp(order, "fail") == 0 ? -EBADMSG : 0;
}

/* A sealed memfd with the start of an image, all of whose indexes point anywhere. */
static int bad_image(size_t len, bool seal)
{
    AUTO_FREE u32 *words = calloc(1, len + sizeof(*words));
    for (size_t i = 0; words && i < len / 4; i++)
        words[i] = i == 0 ? XP_TABLE_MAGIC : i == 1 ? XP_TABLE_VERSION : i < 6 ? 9 : 0xfffffff0u;
    if (seal)
        return fs_sealed_memfd("lie", words, len);
    int fd = memfd_create("lie", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    return fd < 0 || fs_write_all(fd, words, len) ? -1 : fd;
}

static void tell_lie(int sock, const struct parser_request *rq, const char *order)
{
    struct parser_answer a = {.id = rq->id, .len = 4096};
    int fds[4] = {-1, -1, -1, -1};
    unsigned nfds = 1;
    size_t size = sizeof(a);
    char large[sizeof(a) + 8] = {0};
    fds[0] = bad_image(4096, strcmp(order, "unsealed") != 0);
    if (strcmp(order, "short") == 0)
        size = 12;
    if (strcmp(order, "long") == 0)
        size = sizeof(large);
    if (strcmp(order, "id") == 0)
        a.id++;
    if (strcmp(order, "status") == 0)
        a.status = 5;
    if (strcmp(order, "errno") == 0)
        a.status = -100000;
    if (strcmp(order, "failed-with-fd") == 0)
        a.status = -EBADMSG;
    if (strcmp(order, "wants") == 0)
        a.flags = PARSER_WANTS; /* though it was asked for a table */
    if (strcmp(order, "flags") == 0)
        a.flags = 1u << 31;
    if (strcmp(order, "size") == 0)
        a.len = 8192;
    if (strcmp(order, "oversize") == 0)
        a.len = PARSER_MAX_REPLY + 1;
    if (strcmp(order, "no-fd") == 0)
        nfds = 0;
    if (strcmp(order, "pipe") == 0 && pipe(fds))
        _exit(9);
    if (strcmp(order, "two-fds") == 0) {
        nfds = 2;
        fds[1] = dup(fds[0]);
    }
    memcpy(large, &a, sizeof(a));
    packet_send(sock, large, size, fds, nfds);
}

static void lie(int sock)
{
    struct parser_answer hello = {0};
    struct parser_request rq;
    int fds[PACKET_MAX_FDS];
    packet_send(sock, &hello, sizeof(hello), NULL, 0);
    while (!packet_recv(sock, &rq, sizeof(rq), fds)) {
        char order[32];
        read_order(fds[0], order);
        tell_lie(sock, &rq, order);
        if (strcmp(order, "unasked") == 0)
            tell_lie(sock, &rq, order);
    }
}

/* Before main(): the runner knows nothing of children. */
__attribute__((constructor)) static void be_child(int argc, char **argv)
{
    static const struct parser_work worker = {.identify = obey};
    if (opener_is_child(argc, argv))
        _exit(opener_child_main(argc, argv));
    if (parser_is_child(argc, argv))
        parser_child_main(argc, argv);
    if (argc < 3)
        return;
    int sock = atoi(argv[2]);
    if (strcmp(argv[1], ROLE_WORKER) == 0)
        _exit(parser_child_run(argc, argv, &worker));
    if (strcmp(argv[1], ROLE_LIAR) == 0) {
        lie(sock);
        _exit(0);
    }
    if (strcmp(argv[1], ROLE_MUTE) == 0)
        _exit(0);
    if (strcmp(argv[1], ROLE_NAKED) == 0) {
        struct parser_answer hello = {.status = -EPERM};
        packet_send(sock, &hello, sizeof(hello), NULL, 0);
        _exit(1);
    }
}
