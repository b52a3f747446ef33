#include "cli/output.h"
#include "base/cleanup.h"
#include "base/fs.h"
#include "base/log.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

static bool is_stdout(const char *path)
{
    return !strcmp(path, "-");
}

/* Could a file be put there? Existing files are replaced by rename, which asks the directory. */
int output_writable(const char *path)
{
    struct stat st;
    bool exists = !stat(path, &st);
    if (is_stdout(path))
        return 0;
    if (exists && S_ISDIR(st.st_mode))
        return -EISDIR;
    if (exists)
        return access(path, W_OK) ? -errno : 0;
    AUTO_FREE char *dir = strdup(path);
    char *slash = dir ? strrchr(dir, '/') : NULL;
    if (!dir)
        return -ENOMEM;
    if (slash)
        slash[slash == dir] = 0;
    return access(slash ? dir : ".", W_OK) ? -errno : 0;
}

static int choose(struct output *o, const char *format, char *why, size_t len)
{
    o->encoder = format ? encoder_by_name(format) : encoder_for_path(o->path);
    if (!o->encoder && format)
        snprintf(why, len, "--format %s: there is no such format (see xprof record --help)", format);
    else if (!o->encoder && is_stdout(o->path))
        snprintf(why, len, "-o -: name the format with --format");
    else if (!o->encoder)
        snprintf(why, len, "-o %s: the suffix names no format (see xprof record --help), and there is no --format",
                 o->path);
    if (!o->encoder)
        return -EINVAL;
    int rc = output_writable(o->path);
    if (rc)
        snprintf(why, len, "-o %s: cannot be written: %s", o->path, strerror(-rc));
    return rc;
}

int outputs_open(struct outputs *o, const struct option_list *paths, const char *format, char *why, size_t len)
{
    o->v = calloc(paths->n + 1, sizeof(*o->v));
    if (!o->v)
        return -ENOMEM;
    for (o->n = 0; o->n < paths->n; o->n++) {
        o->v[o->n].path = paths->v[o->n];
        int rc = choose(&o->v[o->n], format, why, len);
        if (rc)
            return rc;
    }
    return 0;
}

int output_write_file(const char *path, const void *data, size_t len)
{
    struct stat st;
    bool exists = !stat(path, &st);
    if (!exists || S_ISREG(st.st_mode)) {
        mode_t mask = umask(0);
        umask(mask);
        return fs_replace_file(path, data, len, exists ? st.st_mode & 0777 : 0666 & ~mask);
    }
    AUTO_CLOSE int fd = open(path, O_WRONLY | O_CLOEXEC);
    return fd < 0 ? -errno : fs_write_all(fd, data, len);
}

static int write_one(const struct output *o, const struct profile *p)
{
    AUTO_BUF struct buf out = {0};
    int rc = o->encoder->encode(p, &out);
    if (!rc && out.failed)
        rc = -ENOMEM;
    if (!rc)
        rc = is_stdout(o->path) ? fs_write_all(STDOUT_FILENO, out.data, out.len)
                                : output_write_file(o->path, out.data ? out.data : "", out.len);
    if (rc)
        log_error("%s was not written: %s", o->path, strerror(-rc));
    return rc;
}

int outputs_write(const struct outputs *o, const struct profile *p)
{
    int first = 0;
    for (size_t i = 0; i < o->n; i++) {
        int rc = write_one(&o->v[i], p);
        if (!first)
            first = rc;
    }
    return first;
}

void outputs_free(struct outputs *o)
{
    free(o->v);
    *o = (struct outputs){0};
}
