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

/* May a new file be made beside `path`? */
static int directory_writable(const char *path)
{
    AUTO_FREE char *dir = strdup(path);
    char *slash = dir ? strrchr(dir, '/') : NULL;
    if (!dir)
        return -ENOMEM;
    if (slash)
        slash[slash == dir] = 0;
    return access(slash ? dir : ".", W_OK) ? -errno : 0;
}

/* A regular file is replaced by rename, or written in place where its directory does not allow that. Of the rest only
 * character devices and pipes are written to, and never through a symbolic link that somebody may have planted. */
int output_writable(const char *path)
{
    struct stat st;
    if (is_stdout(path))
        return 0;
    if (lstat(path, &st))
        return errno == ENOENT ? directory_writable(path) : -errno;
    if (S_ISDIR(st.st_mode))
        return -EISDIR;
    if (S_ISLNK(st.st_mode) && (stat(path, &st) || !S_ISREG(st.st_mode)))
        return -ELOOP;
    if (S_ISBLK(st.st_mode) || S_ISSOCK(st.st_mode))
        return -ENOTSUP;
    return access(path, W_OK) ? -errno : 0;
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

/* Into the file that is there: for those that cannot be replaced, and for devices. What is half written stays. */
static int write_in_place(const char *path, const void *data, size_t len)
{
    AUTO_CLOSE int fd = open(path, O_WRONLY | O_TRUNC | O_NOFOLLOW | O_CLOEXEC);
    return fd < 0 ? -errno : fs_write_all(fd, data, len);
}

int output_write_file(const char *path, const void *data, size_t len)
{
    struct stat st;
    int rc = output_writable(path);
    if (rc)
        return rc;
    bool exists = !lstat(path, &st);
    if (exists && !S_ISREG(st.st_mode) && !S_ISLNK(st.st_mode))
        return write_in_place(path, data, len);
    mode_t mask = umask(0);
    umask(mask);
    rc = fs_replace_file(path, data, len, exists && S_ISREG(st.st_mode) ? st.st_mode & 0777 : 0666 & ~mask);
    bool refused = rc == -EBUSY || rc == -EACCES || rc == -EPERM || rc == -EROFS; /* a file bind-mounted by itself */
    return exists && S_ISREG(st.st_mode) && refused ? write_in_place(path, data, len) : rc;
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

const char *output_cache_dir(char *path, size_t len)
{
    const char *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    if (!geteuid())
        return "/var/cache/xprof";
    snprintf(path, len, "%s%s/xprof", xdg ? xdg : home ? home : "/tmp", xdg ? "" : "/.cache");
    return path;
}
