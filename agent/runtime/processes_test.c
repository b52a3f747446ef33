/* The processes that make code: this one plays each of them, and says what its map holds. */
#include "runtime/processes.h"
#include "base/cleanup.h"
#include "base/fs.h"
#include "base/test.h"
#include "proc/proc.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

/* A sample of this process, with one kernel word and one user word. */
struct sample {
    struct xp_sample s;
    u64 words[2];
};

static u64 start_of(pid_t pid)
{
    return proc_start_ticks((u32)pid) * (1000000000 / (u64)sysconf(_SC_CLK_TCK));
}

static struct sample sample_of(unsigned kind)
{
    struct sample s = {.s = {.tgid = (u32)getpid(), .start = start_of(getpid()), .nkernel = 1, .nuser = 1}};
    s.words[0] = 1ull << 60 | 5;
    s.words[1] = (u64)kind << 60 | 0x1000;
    return s;
}

TEST(runtimes_are_recognised_by_their_samples)
{
    struct sample jit = sample_of(XP_WORD_ANON), file = sample_of(1);
    struct runtime_process p = {0};
    CHECK(!runtime_recognises(&file.s, &p) && !p.ops);
    file.words[0] = (u64)XP_WORD_ANON << 60 | 5; /* in the kernel */
    CHECK(!runtime_recognises(&file.s, &p));
    CHECK(runtime_recognises(&jit.s, &p) && p.ops && p.tgid == jit.s.tgid && p.start == jit.s.start && !p.process);
    CHECK(runtime_process_open(NULL, &p) && p.process);
    runtime_process_close(&p);
    CHECK(!p.process && !p.ops);
    jit.s.start += 1ull << 40; /* it has ended, and its number is another's */
    CHECK(runtime_recognises(&jit.s, &p) && !runtime_process_open(NULL, &p) && !p.process);
    jit.s.nuser = 0;
    CHECK(!runtime_recognises(&jit.s, &p));
}

/* A reader that says how often it was asked, and for what. */
struct asked {
    int times, result;
    u64 address;
    size_t n;
};

static int read_map(void *ctx, int fd, int symbols, const u64 *addresses, size_t n,
                    void (*use)(void *arg, const struct names *names), void *arg)
{
    struct asked *a = ctx;
    char byte;
    AUTO_CLOSE int map = fs_open_regular(fd);
    a->times += pread(map, &byte, 1, 0) == 1 && byte == 'm';
    a->address = *addresses;
    a->n = n;
    use(arg, NULL);
    return a->result;
}

static void count(void *arg, const struct names *names)
{
    ++*(int *)arg;
}

static void map_path(char path[64], pid_t pid)
{
    snprintf(path, 64, "/tmp/perf-%d.map", pid);
}

static int names_of(struct runtime_processes *all, u32 tgid, u64 start, int *used)
{
    const u64 addresses[2] = {0x1000, 0x2000};
    *used = 0;
    return runtime_processes_names(all, tgid, start, addresses, 2, count, used);
}

TEST(runtimes_name_what_their_processes_made)
{
    struct asked asked = {0};
    CLEANUP(runtime_processes_free) struct runtime_processes *all = NULL;
    struct sample s = sample_of(XP_WORD_ANON);
    char path[64];
    int used = 0;
    u32 me = s.s.tgid;
    map_path(path, getpid());
    unlink(path);
    CHECK_EQ(runtime_processes_new(&all, (struct runtime_reader){&asked, read_map, NULL}), 0);
    CHECK_EQ(names_of(all, me, s.s.start, &used), -ENOENT); /* nobody knows it */
    for (int i = 0; i < 2; i++) {                           /* of two, one is kept */
        struct runtime_process p = {0};
        CHECK(runtime_recognises(&s.s, &p) && runtime_process_open(NULL, &p));
        runtime_processes_add(all, &p);
        CHECK(!p.process && !p.ops);
    }
    CHECK_EQ(names_of(all, me, s.s.start, &used), -ENOENT); /* it has no map */
    CHECK_EQ(fs_replace_file(path, "map", 3, 0600), 0);
    int rc = names_of(all, me, s.s.start, &used);
    int other = names_of(all, me + 1, s.s.start, &used), later = names_of(all, me, s.s.start + 1, &used);
    asked.result = -EBADMSG;
    int bad = names_of(all, me, s.s.start, &used);
    unlink(path);
    CHECK(rc == 0 && other == -ENOENT && later == -ENOENT && bad == -EBADMSG);
    CHECK(asked.times == 2 && asked.address == 0x1000 && asked.n == 2 && used == 1);
}

/* Once it has ended, a process is kept until an interval went by without it. */
TEST(runtimes_forget_who_has_ended)
{
    struct asked asked = {0};
    CLEANUP(runtime_processes_free) struct runtime_processes *all = NULL;
    int used = 0, gate[2];
    char path[64], c;
    CHECK_EQ(pipe2(gate, O_CLOEXEC), 0);
    pid_t child = fork();
    if (!child) {
        close(gate[1]);
        while (read(gate[0], &c, 1) > 0)
            ;
        _exit(0);
    }
    map_path(path, child);
    u64 start = start_of(child);
    int rc = fs_replace_file(path, "map", 3, 0600);
    rc = rc ? rc : runtime_processes_new(&all, (struct runtime_reader){&asked, read_map, NULL});
    if (!rc) {
        runtime_processes_add_pid(all, (u32)child, start);
        runtime_processes_add_pid(all, (u32)child, start + (1ull << 40)); /* another one */
        runtime_processes_age(all);
        runtime_processes_age(all); /* it was not used, but it lives */
    }
    int alive = rc ? rc : names_of(all, (u32)child, start, &used);
    close(gate[0]);
    close(gate[1]);
    waitpid(child, NULL, 0);
    if (!rc)
        runtime_processes_age(all); /* this interval used it */
    int ended = rc ? rc : names_of(all, (u32)child, start, &used);
    for (int i = 0; i < 2 && !rc; i++)
        runtime_processes_age(all);
    int forgotten = rc ? rc : names_of(all, (u32)child, start, &used);
    unlink(path);
    CHECK(!rc && !alive && !ended);
    CHECK_EQ(forgotten, -ENOENT);
    CHECK_EQ(asked.times, 2);
}
