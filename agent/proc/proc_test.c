#include "proc/proc.h"
#include "base/test.h"
#include <errno.h>
#include <signal.h>
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
    CHECK_EQ(ppid, 42);
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
    CHECK_EQ(proc_parse_cgroup_mount(text, "0:99", name), -ENOENT);
}

TEST(descendants_are_found)
{
    pid_t child = fork();
    if (!child) {
        pause();
        _exit(0);
    }
    proc_pids pids = {0};
    *VEC_PUSH(&pids) = (u32)getpid();
    int rc = proc_add_descendants(&pids);
    bool found = false;
    for (size_t i = 0; i < pids.n; i++)
        found |= pids.v[i] == (u32)child;
    vec_free(&pids);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    CHECK_EQ(rc, 0);
    CHECK(found);
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
