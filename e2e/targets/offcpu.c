/* Processes that each wait for one thing. `offcpu KIND[:FILE]...` runs all at once and prints, for each:
 *     KIND PID SWITCHES WALL CPU RUN_DELAY LIFE
 * the number of its voluntary switches and, in ns, the time by the clock, on CPUs (by the thread's own clock) and on
 * run queues (by /proc/PID/schedstat). WALL and CPU are between two moments, WALL with what it was on run queues before
 * and after these; the others are of its whole life, which may end with a wait. LIFE is the time until its parent
 * knows. */
#define _GNU_SOURCE
#include "burn.h"
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define SECONDS 4
#define MS      1000000
#define BLOCK   4096

struct figures {
    long switches, wall, cpu, delay;
    long began, ended; /* set by the parent */
};

/* What a process shares with the one that lets it wait. */
struct pair {
    pthread_mutex_t mutex;
    pthread_cond_t cond;
    int turn, to[2], from[2];
};

static long now(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return t.tv_sec * 1000000000 + t.tv_nsec;
}

static void nap(long ns)
{
    struct timespec t = {0, ns};
    nanosleep(&t, NULL);
}

static void measure(struct figures *f)
{
    static int fd = -1;
    char text[128] = "";
    if (fd < 0)
        fd = open("/proc/self/schedstat", O_RDONLY);
    if (pread(fd, text, sizeof(text) - 1, 0) <= 0 || sscanf(text, "%*d %ld", &f->delay) != 1)
        err(2, "schedstat");
    f->cpu = now(CLOCK_THREAD_CPUTIME_ID);
    f->wall = now(CLOCK_MONOTONIC);
}

static void *shared(size_t size)
{
    void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        err(2, "mmap");
    return p;
}

static struct pair *make_pair(void)
{
    struct pair *p = shared(sizeof(*p));
    pthread_mutexattr_t mutex;
    pthread_condattr_t cond;
    pthread_mutexattr_init(&mutex);
    pthread_condattr_init(&cond);
    pthread_mutexattr_setpshared(&mutex, PTHREAD_PROCESS_SHARED);
    pthread_condattr_setpshared(&cond, PTHREAD_PROCESS_SHARED);
    pthread_mutex_init(&p->mutex, &mutex);
    pthread_cond_init(&p->cond, &cond);
    if (pipe(p->to) || pipe(p->from))
        err(2, "pipe");
    return p;
}

/* ---- Kinds: what the process does, and what its peer does until it is killed --------------------------------------
 */
static int over(long until)
{
    return now(CLOCK_MONOTONIC) >= until;
}

static void do_sleep(struct pair *p, const char *file)
{
    for (int i = 0; i < 200; i++)
        nap(SECONDS * 1000L * MS / 200);
    (void)p, (void)file;
}

static void hold_mutex(struct pair *p)
{
    for (;;) {
        pthread_mutex_lock(&p->mutex);
        nap(10 * MS);
        pthread_mutex_unlock(&p->mutex);
        nap(MS);
    }
}
static void do_mutex(struct pair *p, const char *file)
{
    for (long until = now(CLOCK_MONOTONIC) + SECONDS * 1000L * MS; !over(until);) {
        pthread_mutex_lock(&p->mutex);
        pthread_mutex_unlock(&p->mutex);
    }
    (void)file;
}

static void signal_cond(struct pair *p)
{
    for (;;) {
        nap(5 * MS);
        pthread_mutex_lock(&p->mutex);
        p->turn++;
        pthread_cond_signal(&p->cond);
        pthread_mutex_unlock(&p->mutex);
    }
}
static void do_cond(struct pair *p, const char *file)
{
    pthread_mutex_lock(&p->mutex);
    for (long until = now(CLOCK_MONOTONIC) + SECONDS * 1000L * MS; !over(until);)
        for (int turn = p->turn; turn == p->turn;)
            pthread_cond_wait(&p->cond, &p->mutex);
    pthread_mutex_unlock(&p->mutex);
    (void)file;
}

static void fill_pipe(struct pair *p)
{
    for (;; nap(5 * MS))
        if (write(p->to[1], "x", 1) != 1)
            return;
}
static void do_pipe(struct pair *p, const char *file)
{
    char c;
    for (long until = now(CLOCK_MONOTONIC) + SECONDS * 1000L * MS; !over(until);)
        if (read(p->to[0], &c, 1) != 1)
            err(2, "pipe");
    (void)file;
}

static void do_epoll(struct pair *p, const char *file)
{
    struct epoll_event event = {.events = EPOLLIN};
    int fd = epoll_create1(0);
    if (fd < 0 || epoll_ctl(fd, EPOLL_CTL_ADD, p->to[0], &event))
        err(2, "epoll");
    for (int i = 0; i < 400; i++)
        epoll_wait(fd, &event, 1, SECONDS * 1000 / 400);
    (void)file;
}

static void do_child(struct pair *p, const char *file)
{
    for (int i = 0; i < 100; i++) {
        pid_t child = fork();
        if (!child) {
            nap(SECONDS * 1000L * MS / 100);
            _exit(0);
        }
        waitpid(child, NULL, 0);
    }
    (void)p, (void)file;
}

static void do_disk(struct pair *p, const char *file)
{
    int fd = open(file, O_RDONLY | O_DIRECT);
    long blocks = lseek(fd, 0, SEEK_END) / BLOCK;
    char *room = aligned_alloc(BLOCK, BLOCK);
    for (long until = now(CLOCK_MONOTONIC) + SECONDS * 1000L * MS; !over(until);)
        if (pread(fd, room, BLOCK, random() % blocks * BLOCK) != BLOCK)
            err(2, "%s", file);
    free(room);
    (void)p;
}

static void do_fault(struct pair *p, const char *file)
{
    int fd = open(file, O_RDONLY);
    size_t size = (size_t)lseek(fd, 0, SEEK_END);
    volatile char *bytes = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
    if (bytes == MAP_FAILED || madvise((void *)bytes, size, MADV_RANDOM))
        err(2, "%s", file);
    for (long until = now(CLOCK_MONOTONIC) + SECONDS * 1000L * MS; !over(until);) {
        madvise((void *)bytes, size, MADV_DONTNEED);
        posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
        for (size_t at = 0; at < size && !over(until); at += BLOCK)
            (void)bytes[at];
    }
    (void)p;
}

static void answer(struct pair *p)
{
    char c = 0;
    while (read(p->to[0], &c, 1) == 1 && write(p->from[1], &c, 1) == 1)
        ;
}
static void do_storm(struct pair *p, const char *file)
{
    char c = 0;
    for (long until = now(CLOCK_MONOTONIC) + SECONDS * 1000L * MS; !over(until);)
        if (write(p->to[1], &c, 1) != 1 || read(p->from[0], &c, 1) != 1)
            err(2, "pipe");
    (void)file;
}

static const struct kind {
    const char *name;
    void (*run)(struct pair *p, const char *file);
    void (*peer)(struct pair *p);
} KINDS[] = {
    {"sleep", do_sleep, NULL},    {"mutex", do_mutex, hold_mutex}, {"cond", do_cond, signal_cond},
    {"pipe", do_pipe, fill_pipe}, {"epoll", do_epoll, NULL},       {"child", do_child, NULL},
    {"disk", do_disk, NULL},      {"fault", do_fault, NULL},       {"storm", do_storm, answer},
};

/* Reads a number of a process that has ended from its file in /proc: the first one behind KEY. */
static long number_of(pid_t pid, const char *file, const char *key, const char *format)
{
    char path[64], text[4096];
    long n = -1;
    snprintf(path, sizeof(path), "/proc/%d/%s", pid, file);
    FILE *f = fopen(path, "r");
    size_t len = f ? fread(text, 1, sizeof(text) - 1, f) : 0;
    text[len] = 0;
    char *at = strstr(text, key);
    if (!at || sscanf(at + strlen(key), format, &n) != 1)
        err(2, "%s", path);
    fclose(f);
    return n;
}

/* What was before and after the two moments is added. The last switch is no wait. */
static void end(pid_t pid, struct figures *f)
{
    nap(20 * MS); /* it says so shortly before it leaves its CPU for good */
    long delay = number_of(pid, "schedstat", "", "%*d %ld");
    f->switches = number_of(pid, "status", "\nvoluntary_ctxt_switches:", "%ld") - 1;
    f->wall += delay - f->delay;
    f->delay = delay;
    waitpid(pid, NULL, 0);
}

/* ---- All of them --------------------------------------------------------------------------------------------------
 */
static pid_t start(const struct kind *kind, struct pair *p, const char *file, struct figures *to)
{
    struct figures begin, end;
    to->began = now(CLOCK_MONOTONIC);
    pid_t pid = fork();
    if (pid)
        return pid;
    measure(&begin);
    kind->run(p, file);
    measure(&end);
    to->wall = end.wall - begin.wall;
    to->cpu = end.cpu - begin.cpu;
    to->delay = end.delay - begin.delay;
    _exit(0);
}

/* Notes when each of them ends, until all have. */
static void watch(int n, const pid_t *pids, struct figures *figures)
{
    for (int left = n; left; nap(MS / 10)) {
        left = 0;
        for (int i = 0; i < n; i++) {
            siginfo_t info = {};
            if (!figures[i].ended && !waitid(P_PID, (id_t)pids[i], &info, WEXITED | WNOWAIT | WNOHANG) && info.si_pid)
                figures[i].ended = now(CLOCK_MONOTONIC);
            left += !figures[i].ended;
        }
    }
}

int main(int argc, char **argv)
{
    struct figures *figures = shared((size_t)argc * sizeof(*figures));
    pid_t pids[argc], peers[argc];
    for (int i = 1; i < argc; i++) {
        char *file = strchr(argv[i], ':');
        const struct kind *kind = KINDS;
        if (file)
            *file++ = 0;
        while (strcmp(kind->name, argv[i]))
            if (++kind == KINDS + sizeof(KINDS) / sizeof(KINDS[0]))
                errx(2, "there is no %s", argv[i]);
        struct pair *p = make_pair();
        peers[i] = kind->peer ? fork() : 0;
        if (kind->peer && !peers[i]) {
            kind->peer(p);
            _exit(0);
        }
        pids[i] = start(kind, p, file, figures + i);
    }
    watch(argc - 1, pids + 1, figures + 1);
    for (int i = 1; i < argc; i++) {
        end(pids[i], figures + i);
        if (peers[i])
            kill(peers[i], SIGKILL);
        printf("%s %d %ld %ld %ld %ld %ld\n", argv[i], pids[i], figures[i].switches, figures[i].wall, figures[i].cpu,
               figures[i].delay, figures[i].ended - figures[i].began);
    }
    return 0;
}
