/* xprof inspect: a file or a process, and addresses in it. */
#include "cli/inspect.h"
#include "inspect/address_space.h"
#include "base/cleanup.h"
#include "base/fs.h"
#include "base/log.h"
#include "cli/cli.h"
#include "proc/proc.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATIENCE_MS 20000
#define MAX_PID     4194304 /* PID_MAX_LIMIT */

struct inspecting {
    struct inspect_options options;
    struct toolbox tools;
    struct binaries *binaries;
    struct address_space *space; /* of a process */
    u32 pid, program;            /* pid: whose root; program: the file's id */
    int root;
    char why[PATH_MAX + 128];
};

static void inspecting_free(struct inspecting *c)
{
    address_space_free(&c->space);
    binaries_free(&c->binaries);
    toolbox_free(&c->tools);
    xp_cleanup_close(&c->root);
    options_free(&inspect_command, &c->options);
}

static int prepare(struct inspecting *c)
{
    int rc = toolbox_open(&c->tools, &c->options.tools, PATIENCE_MS, c->why, sizeof(c->why));
    return rc ? rc : binaries_new(&c->binaries, &c->tools.config);
}

static int open_root(struct inspecting *c)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%u/root", c->pid);
    c->root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (c->root >= 0)
        return 0;
    int rc = -errno; /* a zombie has no root any more */
    snprintf(c->why, sizeof(c->why), "cannot open the root directory of process %u: %s", c->pid,
             rc == -ENOENT ? "the process has exited" : strerror(-rc));
    return rc;
}

/* ---- What it is about -------------------------------------------------------------------------------------------- */

static int take_process(struct inspecting *c)
{
    char path[64], name[PATH_MAX];
    snprintf(path, sizeof(path), "/proc/%u/exe", c->pid);
    ssize_t n = readlink(path, name, sizeof(name) - 1);
    int fd = n < 0 ? -1 : open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        int rc = -errno;
        snprintf(c->why, sizeof(c->why), "cannot open the program of process %u: %s", c->pid,
                 rc == -ENOENT ? "it is a kernel thread, or it has exited" : strerror(-rc));
        return rc;
    }
    name[n] = 0;
    c->program = binaries_add(c->binaries, fd, name, c->pid);
    binaries_add_vdso(c->binaries);
    int error, rc = address_space_new(&c->space, c->binaries, c->pid);
    if (rc)
        snprintf(c->why, sizeof(c->why), "cannot read the mappings of process %u: %s", c->pid, strerror(-rc));
    else if (address_space_unopened(c->space, &error))
        log_warn("process %u: the files of %zu mappings are left out: %s%s", c->pid,
                 address_space_unopened(c->space, &error), strerror(-error),
                 error == -EPERM || error == -EACCES ? "; run as root" : "");
    return rc;
}

/* A path below /proc/PID/root belongs to that process's root. */
static const char *in_root(const char *path, u32 *pid)
{
    int n = 0;
    unsigned id;
    if (sscanf(path, "/proc/%u/root%n", &id, &n) == 1 && n && path[n] == '/') {
        *pid = id;
        return path + n;
    }
    *pid = (u32)getpid();
    return path;
}

static int take_file(struct inspecting *c, const char *operand)
{
    struct stat st;
    AUTO_FREE char *whole = NULL;
    const char *inside = in_root(operand, &c->pid);
    int rc = open_root(c);
    if (rc && inside != operand)
        return rc;
    c->why[0] = 0; /* without one, its debug files are looked for elsewhere */
    if (inside == operand)
        whole = realpath(operand, NULL);
    AUTO_CLOSE int fd = inside == operand ? open(operand, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
                                          : fs_open_in_root(c->root, inside, O_RDONLY);
    int error = fd >= 0 ? 0 : inside == operand ? errno : -fd;
    if (!error && (fstat(fd, &st) || !S_ISREG(st.st_mode)))
        error = S_ISDIR(st.st_mode) ? EISDIR : ENOTSUP;
    if (error) {
        snprintf(c->why, sizeof(c->why), "%s: %s", operand, error == ENOTSUP ? "not a regular file" : strerror(error));
        return -error;
    }
    c->program = binaries_add(c->binaries, TAKE_FD(fd), whole ? whole : inside, c->pid);
    return c->program ? 0 : -ENOMEM;
}

static int take(struct inspecting *c, const char *operand)
{
    char *end;
    unsigned long pid = strtoul(operand, &end, 10);
    if (*end || !pid || pid > MAX_PID || operand[0] == '-')
        return take_file(c, operand);
    if (proc_tgid((u32)pid, &c->pid)) {
        snprintf(c->why, sizeof(c->why), "there is no process %lu (for a file of that name, give ./%s)", pid, operand);
        return -ESRCH;
    }
    int rc = open_root(c);
    return rc ? rc : take_process(c);
}

/* ---- What is said ------------------------------------------------------------------------------------------------ */

static int one(struct inspecting *c, u32 id, void (*how)(const struct inspection *i, struct buf *out), struct buf *out)
{
    struct inspection i;
    int rc = inspect(c->binaries, id, c->root, &i);
    if (rc)
        return rc;
    how(&i, out);
    inspection_free(&i);
    return 0;
}

/* The other files of a process, each once. */
static int others(struct inspecting *c, struct buf *out)
{
    size_t n;
    const struct xp_vma *v = address_space_mappings(c->space, &n);
    bool heading = !c->options.json && !c->options.all;
    for (size_t i = 0; i < n; i++) {
        bool seen = !v[i].file.id || v[i].file.id == c->program;
        for (size_t k = 0; k < i && !seen; k++)
            seen = v[k].file.id == v[i].file.id;
        if (seen)
            continue;
        if (heading)
            buf_str(out, "other files\n");
        heading = false;
        if (c->options.json)
            buf_char(out, ',');
        int rc = one(c, v[i].file.id,
                     c->options.json  ? inspect_json
                     : c->options.all ? inspect_text
                                      : inspect_line,
                     out);
        if (rc)
            return rc;
    }
    return 0;
}

static struct inspect_address locate(struct inspecting *c, u64 address)
{
    struct inspect_address a = {.address = address};
    struct facts facts;
    size_t n = 0;
    const struct xp_vma *v = c->space ? address_space_mappings(c->space, &n) : NULL;
    for (size_t i = 0; i < n; i++)
        if (address >= v[i].start && address < v[i].end) {
            a.id = v[i].file.id;
            a.offset = address - v[i].bias;
        }
    if (!c->space && !binaries_facts(c->binaries, c->program, &facts) && facts_offset(&facts, address, &a.offset))
        a.id = c->program;
    return a;
}

static int addresses(struct inspecting *c, char **v, int n, struct buf *out)
{
    for (int i = 0; i < n; i++) {
        char *end;
        unsigned long long address = strtoull(v[i], &end, 16);
        if (*end || !*v[i]) {
            snprintf(c->why, sizeof(c->why), "%s is not an address: expected hexadecimal digits", v[i]);
            return -EINVAL;
        }
        struct inspect_address a = locate(c, address);
        if (c->options.json && i)
            buf_char(out, ',');
        if (c->options.json)
            inspect_address_json(c->binaries, &a, out);
        else
            inspect_address_text(c->binaries, &a, out);
    }
    return 0;
}

/* Addresses alone are answered alone: what is asked for is not hidden among other things. */
static int run(struct inspecting *c, char **v, int n, struct buf *out)
{
    bool json = c->options.json, process = n == 1 && c->space;
    if (json)
        buf_str(out, n > 1 ? "{\"addresses\":[" : "{\"files\":[");
    int rc = n > 1 ? addresses(c, v + 1, n - 1, out) : one(c, c->program, json ? inspect_json : inspect_text, out);
    if (!rc && process && !json)
        inspect_runtime(c->binaries, c->pid, json, out);
    if (!rc && process)
        rc = others(c, out);
    if (json)
        buf_char(out, ']');
    if (!rc && process && json)
        inspect_runtime(c->binaries, c->pid, json, out);
    if (json)
        buf_str(out, "}\n");
    if (!rc)
        rc = fs_write_all(STDOUT_FILENO, out->data, out->len);
    if (rc && !c->why[0])
        snprintf(c->why, sizeof(c->why), "%s: %s", v[0], strerror(-rc));
    return rc;
}

int cli_inspect(int argc, char **argv)
{
    AUTO_BUF struct buf message = {0};
    AUTO_BUF struct buf out = {0};
    CLEANUP(inspecting_free) struct inspecting c = {.root = -1};
    int at = argc, rc = toolbox_parse(&inspect_command, argc, argv, &c.options, &at, &message);
    if (rc)
        return options_report(rc, &message);
    signal(SIGPIPE, SIG_IGN);
    if (at == argc) {
        log_error("nothing to inspect: give a FILE or a PID");
        return 2;
    }
    rc = prepare(&c);
    if (!rc)
        rc = take(&c, argv[at]);
    if (!rc)
        rc = run(&c, argv + at, argc - at, &out);
    if (rc)
        log_error("%s", c.why);
    return rc == -EINVAL ? 2 : rc != 0;
}
