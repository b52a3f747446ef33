/* What a profile costs on its way out: compressing, the spool against plain write and read of the same bytes, and a
 * push against curl sending the same bytes to the same server.
 *
 *     bench/export [PPROF]     an uncompressed profile; without it one is made up (3,000 stacks of a big program)
 *
 * The server is a child of ours that answers 200. CPU of our push is that of the sending thread: reading and checking
 * the spool, protobuf, HTTP, remembering the place and removing what is done with; curl has the bytes in memory, and
 * its CPU is that of one process for all its requests, over one connection as ours.
 */
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/gz.h"
#include "base/pb.h"
#include "export/export.h"
#include "export/record.h"
#include "export/spool.h"
#include <arpa/inet.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>

enum { PUSHES = 1000, RECORDS = 1000, STACKS = 3000, DEPTH = 25, FUNCTIONS = 4000 };

static void result(const char *name, double ours, double reference, const char *unit, double ratio, double goal)
{
    bool good = goal >= 1 ? ratio <= goal : ratio >= goal;
    printf("%s, %.1f %s, %.1f %s, %.2f, %s %.2f, %s\n", name, ours, unit, reference, unit, ratio,
           goal >= 1 ? "<=" : ">=", goal, good ? "pass" : "fail");
}

/* ---- A profile --------------------------------------------------------------------------------------------------- */

static u64 next_random(u64 *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    return *state ^= *state << 17;
}

static void make_sample(struct buf *b, u64 *random)
{
    size_t m = pb_begin(b, 2), list = pb_begin(b, 1);
    for (u64 i = 0; i < DEPTH; i++) /* outer frames are shared by many */
        pb_varint(b, 1 + next_random(random) % (i < DEPTH / 2 ? FUNCTIONS : 40));
    pb_end(b, list);
    list = pb_begin(b, 2);
    pb_varint(b, 1);
    pb_varint(b, 10101010);
    pb_end(b, list);
    pb_end(b, m);
}

static void make_function(struct buf *b, u64 id, u64 *random)
{
    size_t m = pb_begin(b, 4);
    pb_uint(b, 1, id);
    pb_uint(b, 3, 0x400000 + next_random(random) % 0x2000000);
    size_t line = pb_begin(b, 4);
    pb_uint(b, 1, id);
    pb_uint(b, 2, next_random(random) % 2000);
    pb_end(b, line);
    pb_end(b, m);
    m = pb_begin(b, 5);
    pb_uint(b, 1, id);
    pb_uint(b, 2, 4 + id);
    pb_uint(b, 3, 4 + id);
    pb_end(b, m);
}

static void make_profile(struct buf *b)
{
    static const char *const words[] = {"Vector",   "schedule", "Parser",  "commit", "Buffer", "resolve",
                                        "Iterator", "encode",   "Context", "flush",  "Map",    "visit"};
    static const char *const strings[] = {"", "samples", "count", "cpu", "nanoseconds"};
    u64 random = 88172645463325252ull;
    for (u64 i = 0; i < 2; i++) {
        size_t m = pb_begin(b, 1);
        pb_uint(b, 1, 2 * i + 1);
        pb_uint(b, 2, 2 * i + 2);
        pb_end(b, m);
    }
    for (int i = 0; i < STACKS; i++)
        make_sample(b, &random);
    for (u64 i = 1; i <= FUNCTIONS; i++)
        make_function(b, i, &random);
    for (size_t i = 0; i < 5; i++)
        pb_string(b, 6, strings[i]);
    for (u64 i = 0; i < FUNCTIONS; i++) {
        char name[128];
        snprintf(name, sizeof(name), "app::%s::%s_%llx", words[next_random(&random) % 12],
                 words[next_random(&random) % 12], (unsigned long long)(next_random(&random) % 9999));
        pb_string(b, 6, name);
    }
}

static const struct export_label labels[] = {{"__name__", "process_cpu"}, {"container", "app"},
                                             {"namespace", "market"},     {"node", "node-1"},
                                             {"pod", "cart-7f9c-x2x4"},   {"service_name", "cart"}};

static struct export_item item_of(const struct buf *pprof)
{
    return (struct export_item){.labels = labels,
                                .nlabels = sizeof(labels) / sizeof(*labels),
                                .type = "cpu",
                                .time_ns = clock_ns(CLOCK_REALTIME),
                                .duration_ns = 15 * NS_PER_SEC,
                                .pprof = pprof->data,
                                .len = pprof->len};
}

/* ---- Compressing ------------------------------------------------------------------------------------------------- */

static void bench_gzip(const struct buf *pprof)
{
    double ms[2];
    size_t len[2];
    for (int i = 0; i < 2; i++) {
        u64 start = clock_ns(CLOCK_THREAD_CPUTIME_ID);
        for (int k = 0; k < 20; k++) {
            AUTO_BUF struct buf out = {0};
            gz_compress(pprof->data, pprof->len, i ? 6 : 1, &out);
            len[i] = out.len;
        }
        ms[i] = (double)(clock_ns(CLOCK_THREAD_CPUTIME_ID) - start) / 20e6;
    }
    printf("profile size gzip 1:plain, %zu B, %zu B, %.2f, of Pyroscope's burst %.1f %%, -\n", len[0], pprof->len,
           (double)len[0] / (double)pprof->len, (double)pprof->len * 100 / (2 << 20));
    printf("profile gzip 1:6, %.2f ms %zu B, %.2f ms %zu B, %.2f, none, -\n", ms[0], len[0], ms[1], len[1],
           ms[0] / ms[1]);
}

/* ---- The spool --------------------------------------------------------------------------------------------------- */

static double mb_s(u64 bytes, u64 ns)
{
    return (double)bytes * 1e3 / (double)ns;
}

/* Plain write() of so many pieces to one file, and read() of it. All by CPU time: what the disk does meanwhile is its
 * own affair. */
static void raw_file(const char *path, const struct buf *record, double *write_mb, double *read_mb)
{
    AUTO_FREE char *piece = malloc(record->len);
    AUTO_CLOSE int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    u64 start = clock_ns(CLOCK_THREAD_CPUTIME_ID), bytes = 0;
    for (int i = 0; i < RECORDS && fd >= 0; i++)
        bytes += fs_write_all(fd, record->data, record->len) ? 0 : record->len;
    *write_mb = mb_s(bytes, clock_ns(CLOCK_THREAD_CPUTIME_ID) - start);
    start = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    bytes = 0;
    for (ssize_t n; piece && (n = pread(fd, piece, record->len, (off_t)bytes)) > 0;)
        bytes += (u64)n;
    *read_mb = mb_s(bytes, clock_ns(CLOCK_THREAD_CPUTIME_ID) - start);
}

static int bench_spool(const struct buf *record)
{
    struct spool *s CLEANUP(spool_free) = NULL;
    struct spool_config config = {
        .dir = "spool", .max_bytes = 8ull << 30, .max_age_ns = 3600 * NS_PER_SEC, .memory_bytes = 1 << 20};
    struct spool_reader *r;
    struct spool_record got = {0};
    double raw_write, raw_read;
    if (spool_new(&s, &config) || spool_reader_open(s, "bench", &r))
        return -1;
    raw_file("raw", record, &raw_write, &raw_read);
    u64 start = clock_ns(CLOCK_THREAD_CPUTIME_ID), bytes = 0;
    for (int i = 0; i < RECORDS; i++)
        bytes += spool_put(s, record->data, record->len, clock_ns(CLOCK_REALTIME)) ? 0 : record->len;
    double put = mb_s(bytes, clock_ns(CLOCK_THREAD_CPUTIME_ID) - start);
    start = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    bytes = 0;
    while (spool_next(s, r, &got) == 0) {
        bytes += got.body.len;
        spool_commit(s, r, UINT64_MAX);
    }
    double replay = mb_s(bytes, clock_ns(CLOCK_THREAD_CPUTIME_ID) - start);
    buf_free(&got.body);
    result("spool append", put, raw_write, "MB/CPU-s", put / raw_write, 0.5);
    result("spool replay", replay, raw_read, "MB/CPU-s", replay / raw_read, 0.1);
    return 0;
}

/* ---- Pushing ----------------------------------------------------------------------------------------------------- */

static void serve(int listener)
{
    static const char answer[] = "HTTP/1.1 200 OK\r\nContent-Type: application/proto\r\nContent-Length: 0\r\n\r\n";
    static char data[1 << 20];
    for (int fd; (fd = accept(listener, NULL, NULL)) >= 0; close(fd)) {
        size_t have = 0, want = 0;
        for (ssize_t n; (n = recv(fd, data + have, sizeof(data) - 1 - have, 0)) > 0;) {
            have += (size_t)n;
            data[have] = 0;
            const char *end = want ? NULL : strstr(data, "\r\n\r\n"), *length = strcasestr(data, "content-length:");
            if (end && length)
                want = (size_t)(end + 4 - data) + strtoul(length + 15, NULL, 10);
            if (!want || have < want)
                continue;
            send(fd, answer, sizeof(answer) - 1, MSG_NOSIGNAL);
            have = want = 0;
        }
    }
}

static pid_t start_server(char url[64])
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(a);
    AUTO_CLOSE int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&a, sizeof(a)) || listen(fd, 8) ||
        getsockname(fd, (struct sockaddr *)&a, &len))
        return -1;
    snprintf(url, 64, "http://127.0.0.1:%u", ntohs(a.sin_port));
    pid_t pid = fork();
    if (pid)
        return pid;
    serve(fd);
    _exit(0);
}

/* CPU seconds of one curl that posts the file so often; 0: it cannot be run. */
static double curl_seconds(const char *url)
{
    char target[128], count[32];
    struct rusage u;
    int status;
    snprintf(count, sizeof(count), "[1-%d]", PUSHES);
    snprintf(target, sizeof(target), "%s/push.v1.PusherService/Push?%s", url, count);
    pid_t pid = fork();
    if (!pid) {
        execlp("curl", "curl", "-s", "-o", "/dev/null", "-H", "Content-Type: application/proto", "-H",
               "Expect:", "--data-binary", "@request", target, (char *)NULL);
        _exit(127);
    }
    if (pid < 0 || wait4(pid, &status, 0, &u) != pid || !WIFEXITED(status) || WEXITSTATUS(status))
        return 0;
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) + (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

static int bench_push(const struct buf *pprof, const char *url)
{
    struct exports *e CLEANUP(exports_free) = NULL;
    struct export_target target = {.name = "bench", .url = url, .kind = EXPORT_PYROSCOPE, .parallel = 1};
    struct export_config config = {.targets = &target,
                                   .ntargets = 1,
                                   .spool_dir = "spool",
                                   .spool_bytes = 8ull << 30,
                                   .replay_bytes_per_s = 1}; /* nothing goes before the flush: it is measured alone */
    struct export_item item = item_of(pprof);
    struct export_stats s = {0};
    char why[256];
    if (exports_new(&e, &config, why, sizeof(why)))
        return -1;
    u64 put = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    for (int i = 0; i < PUSHES; i++)
        if (exports_put(e, &item))
            return -1;
    put = clock_ns(CLOCK_THREAD_CPUTIME_ID) - put;
    u64 start = now_ns(), cpu = clock_ns(CLOCK_PROCESS_CPUTIME_ID), mine = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    int rc = exports_flush(e, 120000);
    double seconds = (double)(now_ns() - start) / 1e9;
    cpu = clock_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu - (clock_ns(CLOCK_THREAD_CPUTIME_ID) - mine);
    exports_stats(e, 0, &s);
    exports_free(&e); /* the server has one connection at a time */
    double reference = curl_seconds(url), each = (double)cpu / 1e3 / PUSHES;
    if (rc || s.sent != PUSHES)
        return -1;
    printf("profiles sent, %.0f /s, one connection, -, none, -\n", PUSHES / seconds);
    printf("CPU of put, %.0f us, gzip and spool, -, none, -\n", (double)put / 1e3 / PUSHES);
    if (reference > 0)
        result("CPU of push:curl", each, reference * 1e6 / PUSHES, "us", each * PUSHES / 1e6 / reference, 3);
    else
        printf("CPU of push:curl, skip: there is no curl\n");
    return 0;
}

/* What a push of ours is, for curl: as long, and its body the same kind of bytes. */
static int write_request(const struct buf *record)
{
    return fs_replace_file("request", record->data, record->len, 0600);
}

int main(int argc, char **argv)
{
    AUTO_BUF struct buf pprof = {0}, record = {0};
    AUTO_FREE char *file = NULL;
    char folder[] = "/dev/shm/xprof-bench.XXXXXX", url[64];
    size_t len = 0;
    if (argc > 1 && fs_read_file(argv[1], EXPORT_MAX_PPROF, &file, &len) == 0)
        buf_add(&pprof, file, len);
    else
        make_profile(&pprof);
    struct export_item item = item_of(&pprof);
    if (record_encode(&item, &record) || !mkdtemp(folder) || chdir(folder) || write_request(&record))
        return 1;
    pid_t server = start_server(url);
    bench_gzip(&pprof);
    int rc = bench_spool(&record) || bench_push(&pprof, url);
    if (server > 0) {
        kill(server, SIGKILL);
        waitpid(server, NULL, 0);
    }
    AUTO_BUF struct buf command = {0};
    buf_printf(&command, "rm -rf %s", folder);
    return system(command.data) || rc;
}
