#include "cli/record/program.h"
#include "base/cleanup.h"
#include "probe/probe.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAPPED 4096
#define LINE   256 /* BINPRM_BUF_SIZE (include/uapi/linux/binfmts.h) */

static bool can_run(const char *path)
{
    struct stat st;
    return !stat(path, &st) && S_ISREG(st.st_mode) && !access(path, X_OK);
}

/* execvp(3): a name without a slash is looked for in the folders of PATH; an empty one is the current folder. */
static int find_file(const char *name, char *path, size_t size)
{
    const char *set = getenv("PATH"), *folders = set ? set : "/bin:/usr/bin";
    if (strchr(name, '/')) {
        int n = snprintf(path, size, "%s", name);
        return (size_t)n >= size ? -ENAMETOOLONG : can_run(path) ? 0 : -ENOENT;
    }
    for (;; folders++) {
        size_t len = strcspn(folders, ":");
        int n = snprintf(path, size, "%.*s%s%s", (int)len, folders, len ? "/" : "", name);
        if ((size_t)n < size && can_run(path))
            return 0;
        folders += len;
        if (!*folders)
            return -ENOENT;
    }
}

/* The words behind "#!" of a script; *second is NULL if there is one only. Returns NULL if it is none. */
static char *interpreter(const char *path, char line[LINE + 1], char **second)
{
    AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t n = fd < 0 ? -1 : read(fd, line, LINE);
    if (n < 3 || line[0] != '#' || line[1] != '!')
        return NULL;
    line[n] = 0;
    line[2 + strcspn(line + 2, "\n")] = 0;
    char *save = NULL, *first = strtok_r(line + 2, " \t", &save);
    *second = strtok_r(NULL, " \t", &save);
    return first;
}

int program_find(const char *name, char *path, size_t size)
{
    char line[LINE + 1], *second = NULL;
    int rc = find_file(name, path, size);
    char *first = rc ? NULL : interpreter(path, line, &second);
    if (!first)
        return rc;
    const char *slash = strrchr(first, '/');
    bool env = second && !strcmp(slash ? slash + 1 : first, "env");
    return find_file(env ? second : first, path, size);
}

static void *map(int fd)
{
    void *at = fd < 0 ? MAP_FAILED : mmap(NULL, MAPPED, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
    return at == MAP_FAILED ? NULL : at;
}

void *program_map(const char *name)
{
    char path[PATH_MAX];
    if (program_find(name, path, sizeof(path)))
        return NULL;
    AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
    return map(fd);
}

void program_unmap(void *mapping)
{
    if (mapping)
        munmap(mapping, MAPPED);
}

void program_map_probed(const struct probe_config *config, struct program_probed *out)
{
    out->n = 0;
    for (size_t i = 0; i < config->nevents; i++)
        if (config->events[i].places && (out->at[out->n] = map(config->events[i].places->fd)))
            out->n++;
}

void program_unmap_probed(struct program_probed *p)
{
    while (p->n)
        program_unmap(p->at[--p->n]);
}
