#include "cli/record/probed_file.h"
#include "cli/record/pod_file.h"
#include "base/cleanup.h"
#include "base/fs.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static int open_in(const char *root, const char *path)
{
    AUTO_CLOSE int dir = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
    return dir < 0 ? -errno : fs_open_in_root(dir, path, O_RDONLY);
}

/* "N:PATH" */
static int open_of_process(const char *text)
{
    char *end, root[64];
    unsigned long pid = strtoul(text, &end, 10);
    if (end == text || *end != ':' || end[1] != '/')
        return -EINVAL;
    snprintf(root, sizeof(root), "/proc/%lu/root", pid);
    return open_in(root, end + 1);
}

/* A file of that name that a process has mapped. */
static int open_mapped(u64 pid, const char *name)
{
    char path[64];
    AUTO_FREE char *line = NULL;
    size_t size = 0;
    int fd = -ENOENT;
    snprintf(path, sizeof(path), "/proc/%llu/maps", (unsigned long long)pid);
    FILE *maps = fopen(path, "re");
    snprintf(path, sizeof(path), "/proc/%llu/root", (unsigned long long)pid);
    while (maps && fd < 0 && getline(&line, &size, maps) > 0) {
        line[strcspn(line, "\n")] = 0;
        const char *at = strchr(line, '/'), *base = at ? strrchr(at, '/') + 1 : "";
        if (!strcmp(base, name))
            fd = open_in(path, at);
    }
    if (maps)
        fclose(maps);
    return fd;
}

static int open_searched(const char *name)
{
    static const char *const libraries[] = {"/lib/x86_64-linux-gnu",
                                            "/usr/lib/x86_64-linux-gnu",
                                            "/lib64",
                                            "/usr/lib64",
                                            "/usr/local/lib",
                                            "/lib",
                                            "/usr/lib"};
    const char *programs = getenv("PATH");
    char path[4096];
    int fd = -1;
    for (size_t i = 0; i < sizeof(libraries) / sizeof(*libraries) && fd < 0; i++) {
        snprintf(path, sizeof(path), "%s/%s", libraries[i], name);
        fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    }
    for (const char *at = programs; at && *at && fd < 0;) {
        size_t n = strcspn(at, ":");
        snprintf(path, sizeof(path), "%.*s/%s", (int)n, at, name);
        fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
        at += n + (at[n] == ':');
    }
    return fd < 0 ? -ENOENT : fd;
}

static int open_file(const struct probed_where *where, const char *file)
{
    int fd = -ENOENT;
    if (!strncmp(file, "pid:", 4))
        return open_of_process(file + 4);
    if (strchr(file, '/')) {
        fd = open(file, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
        return fd < 0 ? -errno : fd;
    }
    for (size_t i = 0; i < where->pids.n && fd < 0; i++)
        fd = open_mapped(where->pids.v[i], file);
    return fd < 0 ? open_searched(file) : fd;
}

static int open_of_pod(const struct probed_where *where, const char *file, char *why, size_t len)
{
    struct pod_file f;
    if (!pod_file_split(file, &f))
        return pod_file_open(&f, where->cri_socket, why, len);
    snprintf(why, len, "pod:%s: expected pod:NAMESPACE/NAME/CONTAINER:/PATH", file);
    return -EINVAL;
}

int record_open_probed(const struct probed_where *where, const char *file, char *why, size_t len)
{
    struct stat st;
    bool pod = !strncmp(file, "pod:", 4);
    AUTO_CLOSE int fd = pod ? open_of_pod(where, file + 4, why, len) : open_file(where, file);
    if (pod && fd < 0)
        return fd;
    if (fd < 0 || fs_stat(fd, &st) || !S_ISREG(st.st_mode)) {
        snprintf(why, len, "%s: %s", file,
                 fd == -EINVAL ? "expected pid:N:/PATH"
                 : fd < 0      ? strerror(-fd)
                               : "not a regular file");
        return fd < 0 ? fd : -EINVAL;
    }
    return TAKE_FD(fd);
}

int record_ask_probed(probed_request *request, int fd, const char *pattern, struct parser_reply *out)
{
    struct parser_limits limits = PARSER_LIMITS_DEFAULT;
    struct parser *p = NULL;
    int rc = parser_new(&p, &limits);
    if (!rc)
        rc = request(p, fd, pattern, out);
    parser_free(&p);
    return rc;
}
