#include "cli/record/probed_file.h"
#include "cli/record/pod_file.h"
#include "base/cleanup.h"
#include "base/fs.h"
#include "debug/debug.h"
#include "pipeline/named_file.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

void probed_file_free(struct probed_file *f)
{
    xp_cleanup_close(&f->fd);
    xp_cleanup_close(&f->root);
    free(f->path);
    *f = (struct probed_file)PROBED_FILE_NONE;
}

int record_open_in(u64 pid, const char *path, struct probed_file *out)
{
    char root[64];
    CLEANUP(probed_file_free) struct probed_file f = PROBED_FILE_NONE;
    snprintf(root, sizeof(root), "/proc/%llu/root", (unsigned long long)pid);
    f.root = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
    f.fd = f.root < 0 ? -errno : fs_open_in_root(f.root, path, O_RDONLY);
    f.path = strdup(path);
    if (f.fd < 0 || !f.path)
        return f.fd < 0 ? f.fd : -ENOMEM;
    *out = f;
    f = (struct probed_file)PROBED_FILE_NONE;
    return 0;
}

/* "N:PATH" */
static int open_of_process(const char *text, struct probed_file *out)
{
    char *end;
    unsigned long pid = strtoul(text, &end, 10);
    bool valid = end != text && *end == ':' && end[1] == '/';
    return valid ? record_open_in(pid, end + 1, out) : -EINVAL;
}

/* A path of ours, which may lead through /proc/PID/root. */
static int open_path(const char *path, struct probed_file *out)
{
    CLEANUP(probed_file_free) struct probed_file f = PROBED_FILE_NONE;
    f.fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (f.fd < 0)
        return -errno;
    f.root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    f.path = strncmp(path, "/proc/", 6) ? realpath(path, NULL) : strdup(path);
    if (!f.path)
        return -errno;
    *out = f;
    f = (struct probed_file)PROBED_FILE_NONE;
    return 0;
}

static int open_searched(const char *name, struct probed_file *out)
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
    int rc = -ENOENT;
    for (size_t i = 0; i < sizeof(libraries) / sizeof(*libraries) && rc; i++) {
        snprintf(path, sizeof(path), "%s/%s", libraries[i], name);
        rc = open_path(path, out);
    }
    for (const char *at = programs; at && *at && rc;) {
        size_t n = strcspn(at, ":");
        snprintf(path, sizeof(path), "%.*s/%s", (int)n, at, name);
        rc = open_path(path, out);
        at += n + (at[n] == ':');
    }
    return rc ? -ENOENT : 0;
}

static int open_file(const char *file, struct probed_file *out)
{
    if (!strncmp(file, "pid:", 4))
        return open_of_process(file + 4, out);
    if (strchr(file, '/'))
        return open_path(file, out);
    return open_searched(file, out);
}

static int open_of_pod(const struct probed_where *where, const char *file, struct probed_file *out, char *why,
                       size_t len)
{
    struct pod_file f;
    if (pod_file_split(file, &f)) {
        snprintf(why, len, "pod:%s: expected pod:NAMESPACE/NAME/CONTAINER:/PATH", file);
        return -EINVAL;
    }
    out->fd = pod_file_open(&f, where->cri_socket, &out->root, why, len);
    out->path = strdup(f.path);
    return out->fd < 0 ? out->fd : out->path ? 0 : -ENOMEM;
}

int record_open_probed(const struct probed_where *where, const char *file, struct probed_file *out, char *why,
                       size_t len)
{
    struct stat st;
    CLEANUP(probed_file_free) struct probed_file f = PROBED_FILE_NONE;
    bool pod = !strncmp(file, "pod:", 4);
    int rc = pod ? open_of_pod(where, file + 4, &f, why, len) : open_file(file, &f);
    if (pod && rc)
        return rc;
    if (rc || fs_stat(f.fd, &st) || !S_ISREG(st.st_mode)) {
        snprintf(why, len, "%s: %s", file,
                 rc == -EINVAL ? "expected pid:N:/PATH"
                 : rc          ? strerror(-rc)
                               : "not a regular file");
        return rc ? rc : -EINVAL;
    }
    *out = f;
    f = (struct probed_file)PROBED_FILE_NONE;
    return 0;
}

/* ---- What is in it ----------------------------------------------------------------------------------------------- */

static int start(struct parser **out)
{
    struct parser_limits limits = PARSER_LIMITS_DEFAULT;
    return parser_new(out, &limits);
}

/* Looks in the debug file, if there is one. */
static int ask_with_debug(struct parser *p, const struct probed_where *where, const struct probed_file *f,
                          const char *pattern, struct parser_reply *out)
{
    CLEANUP(debug_files_free) struct debug_files debug = DEBUG_FILES_NONE;
    struct debug_subject subject = {f->fd, f->root, f->path};
    AUTO_CLOSE int host = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    struct debug_search_paths places = {
        .parser = p, .host = host, .dirs = (const char *const *)where->debug_dirs.v, .ndirs = where->debug_dirs.n};
    if (debug_files_find(&places, &subject, &debug, NULL) || debug.debug < 0 || !debug.debug_symbols)
        return 0;
    parser_reply_free(out);
    return parser_functions(p, f->fd, debug.debug, pattern, out);
}

int record_ask_functions(const struct probed_where *where, const struct probed_file *f, const char *pattern,
                         struct parser_reply *out)
{
    CLEANUP(parser_free) struct parser *p = NULL;
    int rc = start(&p);
    if (!rc)
        rc = parser_functions(p, f->fd, -1, pattern, out);
    const struct functions *found = out->data;
    return rc || found->n ? rc : ask_with_debug(p, where, f, pattern, out);
}

int record_ask_usdt(const struct probed_file *f, const char *pattern, struct parser_reply *out)
{
    CLEANUP(parser_free) struct parser *p = NULL;
    int rc = start(&p);
    return rc ? rc : parser_usdt(p, f->fd, pattern, out);
}

int record_ask_returns(const struct probed_file *f)
{
    CLEANUP(parser_free) struct parser *p = NULL;
    int rc = start(&p);
    return rc ? rc : named_file_check_returns(p, f->fd);
}
