#include "cli/record/functions.h"
#include "base/cleanup.h"
#include "base/fs.h"
#include "parser/parser.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- The file ---------------------------------------------------------------------------------------------------- */

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

static int open_file(const struct record_options *o, const char *file)
{
    int fd = -ENOENT;
    if (!strncmp(file, "pid:", 4))
        return open_of_process(file + 4);
    if (strchr(file, '/')) {
        fd = open(file, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
        return fd < 0 ? -errno : fd;
    }
    for (size_t i = 0; i < o->pids.n && fd < 0; i++)
        fd = open_mapped(o->pids.v[i], file);
    return fd < 0 ? open_searched(file) : fd;
}

/* ---- The function ------------------------------------------------------------------------------------------------ */

/* Splits off "+OFFSET". Returns 0 or -EINVAL. */
static int split_offset(const char *function, char *name, size_t len, u64 *offset)
{
    const char *plus = strchr(function, '+');
    char *end = NULL;
    *offset = plus ? strtoull(plus + 1, &end, 0) : 0;
    if (plus && (end == plus + 1 || *end))
        return -EINVAL;
    size_t n = plus ? (size_t)(plus - function) : strlen(function);
    if (!n || n >= len)
        return -EINVAL;
    memcpy(name, function, n);
    name[n] = 0;
    return 0;
}

/* `name` NULL: only the facts. */
static int ask(int fd, const char *name, struct functions *found, struct facts *facts)
{
    struct parser_limits limits = PARSER_LIMITS_DEFAULT;
    struct parser *p = NULL;
    int rc = parser_new(&p, &limits);
    if (!rc)
        rc = parser_facts(p, fd, facts);
    if (!rc && name)
        rc = parser_functions(p, fd, name, found);
    parser_free(&p);
    return rc;
}

static int take(const u64 *offsets, size_t n, size_t stepped, u64 more, int *fd, struct probe_places *out)
{
    out->offsets = calloc(n, sizeof(*out->offsets));
    if (!out->offsets)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++)
        out->offsets[i] = offsets[i] + more;
    out->n = n;
    out->stepped = more ? n : stepped;
    out->fd = TAKE_FD(*fd);
    return 0;
}

static int find_in(int *fd, const char *file, const char *function, struct probe_places *out, char *why, size_t len)
{
    char name[FUNCTIONS_NAME + 1], *end;
    struct functions found;
    struct facts facts;
    u64 more = 0, offset = strtoull(function, &end, 16);
    bool bare = !strncmp(function, "0x", 2) && !*end;
    int rc = bare ? 0 : split_offset(function, name, sizeof(name), &more);
    if (rc)
        snprintf(why, len, "%s: expected FUNCTION, FUNCTION+OFFSET, or 0xOFFSET in the file", function);
    else if ((rc = ask(*fd, bare ? NULL : name, &found, &facts)))
        snprintf(why, len, "%s: its symbols cannot be read: %s", file, strerror(-rc));
    else if (out->when != PROBE_CALLS && more)
        snprintf(why, len, "%s: only functions return: name one without +OFFSET", function);
    else if (out->when != PROBE_CALLS && !strcmp(facts.language, "Go"))
        snprintf(why, len,
                 "%s is a Go program, which would crash: its stacks move, return addresses and all. Use uprobe:", file);
    else if (bare)
        return take(&offset, 1, 1, 0, fd, out);
    else if (!found.n && found.indirect)
        snprintf(why, len,
                 "%s: which code is %s is chosen when a program starts: name what it is on this machine, or 0xOFFSET",
                 file, name);
    else if (!found.n)
        snprintf(why, len, "%s: none of its %u functions with a name is %s%s%s", file, found.all, name,
                 found.near[0] ? "; near it: " : "", found.near);
    else if (found.left_out)
        snprintf(why, len, "%s: more than %d functions are %s", file, FUNCTIONS_MAX, name);
    else
        return take(found.offset, found.n, found.stepped, more, fd, out);
    return rc ? rc : -ENOENT;
}

int record_find_function(void *options, const char *file, const char *function, struct probe_places *out, char *why,
                         size_t len)
{
    struct stat st;
    AUTO_CLOSE int fd = open_file(options, file);
    if (fd < 0 || fs_stat(fd, &st) || !S_ISREG(st.st_mode)) {
        snprintf(why, len, "%s: %s", file,
                 fd == -EINVAL ? "expected pid:N:/PATH"
                 : fd < 0      ? strerror(-fd)
                               : "not a regular file");
        return fd < 0 ? fd : -EINVAL;
    }
    return find_in(&fd, file, function, out, why, len);
}
