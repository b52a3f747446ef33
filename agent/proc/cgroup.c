/* Cgroup directories as targets: which hierarchy, which id. */
#include "proc/proc.h"
#include "base/cleanup.h"
#include "base/fs.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

/* Controllers that version 1 knows; the first one in a mount's options stands for its hierarchy. */
static bool is_controller(const char *word)
{
    static const char *const known[] = {"cpuset", "cpu",        "cpuacct",  "memory",  "devices", "freezer", "net_cls",
                                        "blkio",  "perf_event", "net_prio", "hugetlb", "pids",    "rdma",    "misc"};
    for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
        if (!strcmp(word, known[i]))
            return true;
    return false;
}

/* The first controller among the comma-separated options of one mountinfo line. */
static int find_controller(char *options, char controller[32])
{
    char *save = NULL;
    for (char *word = strtok_r(options, ",\n", &save); word; word = strtok_r(NULL, ",\n", &save))
        if (is_controller(word)) {
            snprintf(controller, 32, "%s", word);
            return 0;
        }
    return -ENOTSUP;
}

int proc_parse_cgroup_mount(const char *mountinfo, const char *dev, char controller[32])
{
    AUTO_FREE char *copy = strdup(mountinfo);
    char *save = NULL, device[32];
    if (!copy)
        return -ENOMEM;
    for (char *line = strtok_r(copy, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        char *tail = strstr(line, " - cgroup "); /* then: source, super options (proc(5)) */
        if (!tail || sscanf(line, "%*d %*d %31s", device) != 1 || strcmp(device, dev) != 0)
            continue;
        char *options = strrchr(tail, ' ');
        return find_controller(options + 1, controller);
    }
    return -ENOENT;
}

int proc_cgroup(const char *path, u64 *id, char controller[32])
{
    struct statfs fs;
    struct stat st;
    AUTO_CLOSE int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || fstatfs(fd, &fs) || fstat(fd, &st))
        return -errno;
    if (fs.f_type != CGROUP2_SUPER_MAGIC && fs.f_type != CGROUP_SUPER_MAGIC)
        return -EINVAL;
    controller[0] = 0;
    if (fs.f_type == CGROUP_SUPER_MAGIC) {
        AUTO_FREE char *mounts = NULL;
        char dev[32];
        snprintf(dev, sizeof(dev), "%u:%u", major(st.st_dev), minor(st.st_dev));
        int rc = fs_read_file("/proc/self/mountinfo", 1 << 24, &mounts, NULL);
        if (!rc)
            rc = proc_parse_cgroup_mount(mounts, dev, controller);
        if (rc)
            return rc;
    }
    *id = st.st_ino;
    return 0;
}
