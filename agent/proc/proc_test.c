#include "proc/proc.h"
#include "base/cleanup.h"
#include "base/fs.h"
#include "base/test.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

TEST(stat_line_with_a_hostile_comm)
{
    u32 ppid = 0;
    u64 ticks = 0;
    CHECK_EQ(proc_parse_stat("7 (a) R 9 (b)) S 42 7 7 0 -1 4194560 1 2 3 4 100 23 0 0 20 0 1 0 5\n", &ppid, &ticks), 0);
    CHECK_EQ(ppid, 42);
    CHECK_EQ(ticks, 123);
    CHECK_EQ(proc_parse_stat("7 (a", &ppid, &ticks), -EBADMSG);
    CHECK_EQ(proc_parse_stat("7 (a) S 1 7 7 0 -1 4194560 1 2 3 4 100\n", &ppid, &ticks), -EBADMSG);
    CHECK_EQ(ppid, 42);
    CHECK_EQ(ticks, 123);
}

TEST(cgroup_mount_of_a_device)
{
    static const char text[] =
        "30 24 0:26 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
        "31 24 0:27 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,xattr,name=systemd\n"
        "32 24 0:28 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
    char name[32] = "";
    CHECK_EQ(proc_parse_cgroup_mount(text, "0:26", name), 0);
    CHECK_STR(name, "cpu");
    CHECK_EQ(proc_parse_cgroup_mount(text, "0:27", name), -ENOTSUP);
    CHECK_EQ(proc_parse_cgroup_mount(text, "0:28", name), -ENOENT); /* version 2 */
    CHECK_EQ(proc_parse_cgroup_mount(text, "0:99", name), -ENOENT);
    CHECK_STR(name, "cpu");
}

TEST(cgroup_controllers_of_version_1)
{
    static const char *const known[] = {"cpuset", "cpu",        "cpuacct",  "memory",  "devices", "freezer", "net_cls",
                                        "blkio",  "perf_event", "net_prio", "hugetlb", "pids",    "rdma",    "misc"};
    for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
        char text[128], name[32] = "";
        snprintf(text, sizeof(text), "30 24 0:26 / /sys rw - cgroup cgroup %s,xattr", known[i]);
        CHECK_EQ(proc_parse_cgroup_mount(text, "0:26", name), 0);
        CHECK_STR(name, known[i]);
    }
}

/* A child that has one itself; both wait until the pipe's other end is closed. */
static pid_t fork_twice(const int gate[2], pid_t *grandchild)
{
    int told[2];
    if (pipe2(told, O_CLOEXEC))
        return -1;
    pid_t child = fork();
    if (!child) {
        char c;
        pid_t own = fork();
        close(gate[1]);
        if (own && write(told[1], &own, sizeof(own)) != sizeof(own))
            _exit(1);
        while (read(gate[0], &c, 1) > 0)
            ;
        _exit(0);
    }
    close(told[1]);
    if (read(told[0], grandchild, sizeof(*grandchild)) != sizeof(*grandchild))
        *grandchild = -1;
    close(told[0]);
    return child;
}

TEST(descendants_are_found)
{
    int gate[2];
    pid_t grandchild = 0;
    CHECK_EQ(pipe2(gate, O_CLOEXEC), 0);
    pid_t child = fork_twice(gate, &grandchild);
    proc_pids pids = {0};
    *VEC_PUSH(&pids) = (u32)getpid();
    int rc = proc_add_descendants(&pids);
    unsigned me = 0, found = 0, found_too = 0, others = 0;
    for (size_t i = 0; i < pids.n; i++) {
        me += pids.v[i] == (u32)getpid();
        found += pids.v[i] == (u32)child;
        found_too += pids.v[i] == (u32)grandchild;
        others += pids.v[i] == (u32)getppid() || pids.v[i] == 1;
    }
    vec_free(&pids);
    close(gate[0]);
    close(gate[1]);
    waitpid(child, NULL, 0);
    CHECK_EQ(rc, 0);
    CHECK(me == 1 && found == 1 && found_too == 1 && !others); /* each once, and nobody else */
}

TEST(vdso_is_an_elf_file)
{
    char magic[4];
    int fd = proc_vdso();
    if (fd == -ENOENT)
        SKIP("this kernel maps no vdso");
    CHECK(fd >= 0);
    CHECK_EQ(pread(fd, magic, 4, 0), 4);
    close(fd);
    CHECK(!memcmp(magic, "\177ELF", 4));
}

TEST(a_zombie_is_not_alive)
{
    CHECK(proc_alive((u32)getpid()));
    pid_t child = fork();
    if (!child)
        _exit(0);
    siginfo_t info;
    CHECK_EQ(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT), 0);
    CHECK_EQ(kill(child, 0), 0);
    CHECK(!proc_alive((u32)child));
    CHECK_EQ(waitpid(child, NULL, 0), child);
    CHECK(!proc_alive((u32)child));
}

TEST(proc_threads_belong_to_their_process)
{
    u32 tgid = 0;
    CHECK_EQ(proc_tgid((u32)getpid(), &tgid), 0);
    CHECK_EQ(tgid, getpid());
    CHECK_EQ(proc_tgid(0x7fffffff, &tgid), -ESRCH);
    CHECK_EQ(tgid, getpid());
}

TEST(proc_times)
{
    u64 ticks = proc_cpu_ticks((u32)getpid()), goal = ticks + 3;
    for (int i = 0; i < 10000 && ticks < goal; i++)
        ticks = proc_cpu_ticks((u32)getpid()); /* which takes time itself */
    CHECK(ticks >= goal);
    CHECK_EQ(proc_cpu_ticks(0x7fffffff), 0);
    u64 start = proc_start_ticks((u32)getpid());
    pid_t child = fork();
    if (!child) {
        pause();
        _exit(0);
    }
    u64 later = proc_start_ticks((u32)child);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    CHECK(start && later >= start);
    CHECK_EQ(proc_start_ticks(0x7fffffff), 0);
}

/* A file that was removed after it was mapped is still the one that runs. */
TEST(proc_counts_switches)
{
    u64 before = proc_switches((u32)getpid(), (u32)getpid());
    usleep(1000);
    u64 after = proc_switches((u32)getpid(), (u32)getpid());
    CHECK(before > 0 && after > before);
    CHECK_EQ(proc_switches((u32)getpid(), 0x7fffffff), 0);
    CHECK(!proc_sleeps_since((u32)getpid(), (u32)getpid(), (u32)after)); /* it runs */
}

TEST(proc_mapping_of_a_removed_file)
{
    char name[] = "/tmp/xprof-mapping-XXXXXX", text[3] = "", *path = NULL, *none = NULL;
    long page = sysconf(_SC_PAGESIZE);
    int fd = mkstemp(name), zero = open("/dev/zero", O_RDONLY | O_CLOEXEC);
    CHECK(fd >= 0 && zero >= 0 && write(fd, "abc", 3) == 3);
    void *map = mmap(NULL, (size_t)page, PROT_READ, MAP_PRIVATE, fd, 0);
    void *device = mmap(NULL, (size_t)page, PROT_READ, MAP_PRIVATE, zero, 0);
    unlink(name);
    int got = proc_open_mapping((u32)getpid(), (u64)map, (u64)map + (u64)page, &path);
    int odd = proc_open_mapping((u32)getpid(), (u64)device, (u64)device + (u64)page, &none);
    int nothing = proc_open_mapping((u32)getpid(), 1, 2, &none);
    AUTO_CLOSE int opened = got < 0 ? -1 : fs_open_regular(got);
    ssize_t n = pread(opened, text, 3, 0);
    bool same = path && !strcmp(path, name);
    munmap(map, (size_t)page);
    munmap(device, (size_t)page);
    close(fd);
    close(zero);
    free(path);
    if (got == -EPERM)
        SKIP("the kernel opens map_files only for CAP_SYS_ADMIN");
    CHECK(got >= 0 && !close(got));
    CHECK(n == 3 && !memcmp(text, "abc", 3) && same);
    CHECK_EQ(odd, -ENOEXEC);
    CHECK_EQ(nothing, -ENOENT);
    CHECK(!none);
}

TEST(proc_cgroup_of_a_folder)
{
    struct stat st;
    u64 id = 77;
    char controller[32] = "untouched";
    CHECK_EQ(proc_cgroup("/proc/self", &id, controller), -EINVAL);
    CHECK_EQ(proc_cgroup("/proc/self/stat", &id, controller), -ENOTDIR);
    CHECK_EQ(proc_cgroup("/proc/self/nowhere", &id, controller), -ENOENT);
    CHECK_EQ(id, 77);
    CHECK_STR(controller, "untouched");
    static const char *const places[][2] = {
        {"/sys/fs/cgroup", ""}, {"/sys/fs/cgroup/unified", ""}, {"/sys/fs/cgroup/pids", "pids"}};
    int found = 0;
    for (size_t i = 0; i < 3; i++) {
        int rc = proc_cgroup(places[i][0], &id, controller);
        if (rc == -ENOENT || rc == -EINVAL) /* another version, or a folder of mounts */
            continue;
        CHECK_EQ(rc, 0);
        CHECK_STR(controller, places[i][1]);
        CHECK(!stat(places[i][0], &st) && st.st_ino == id);
        found++;
    }
    if (!found)
        SKIP("no cgroups are mounted");
}

TEST(parents_of_processes)
{
    CHECK_EQ(proc_parent((u32)getpid()), getppid());
    CHECK_EQ(proc_parent(1u << 30), 0);
}
