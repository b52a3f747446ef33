/* The program of a container that lives for a moment: appends "CGROUP ID START" to a file (the id of its cgroup in the
 * unified hierarchy, that in the one mounted at TREE, and ns by the monotonic clock, taken first of all), then burns
 * CPU.   start FILE MS TREE
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static unsigned long long cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (unsigned long long)t.tv_sec * 1000000000 + (unsigned long long)t.tv_nsec;
}

/* Of this process, whose path is the same in all hierarchies, in the first one of two that is there. */
static unsigned long long own_cgroup(const char *tree, const char *otherwise)
{
    char line[1024], path[4096];
    struct stat st = {0};
    FILE *f = fopen("/proc/self/cgroup", "re");
    while (f && fgets(line, sizeof(line), f))
        if (!strncmp(line, "0::", 3)) {
            line[strcspn(line, "\n")] = 0;
            snprintf(path, sizeof(path), "%s%s", tree, line + 3);
            if (stat(path, &st)) {
                snprintf(path, sizeof(path), "%s%s", otherwise, line + 3);
                stat(path, &st);
            }
        }
    if (f)
        fclose(f);
    return st.st_ino;
}

int main(int argc, char **argv)
{
    const char *joined = getenv("JOINED_NS");
    if (argc != 4 || !joined)
        return 1;
    int fd = open(argv[1], O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    unsigned long long unified = own_cgroup("/sys/fs/cgroup/unified", "/sys/fs/cgroup");
    if (dprintf(fd, "%llu %llu %s\n", unified, own_cgroup(argv[3], argv[3]), joined) < 0)
        return 1;
    while (cpu_ns() < strtoull(argv[2], NULL, 10) * 1000000)
        ;
    return 0;
}
