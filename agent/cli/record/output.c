#include "cli/record/output.h"
#include "base/cleanup.h"
#include "base/fs.h"
#include "base/gz.h"
#include "base/log.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#define GZ_LEVEL 1 /* timelines are long */

static bool is_stdout(const char *path)
{
    return !strcmp(path, "-");
}

/* What a path leads to. */
struct place {
    char path[PATH_MAX]; /* symbolic links are resolved */
    char self[32];       /* path of `fd`, to open it again */
    int fd;              /* O_PATH; -1: there is no file yet */
    int stream;          /* the standard stream to write to instead, or -1 */
    struct stat st;
};

static void place_close(struct place *p)
{
    if (p->fd >= 0)
        close(p->fd);
}

static int folder_of(const char *path, char **out)
{
    AUTO_FREE char *dir = strdup(path);
    char *slash = dir ? strrchr(dir, '/') : NULL;
    if (!dir)
        return -ENOMEM;
    if (slash)
        slash[slash == dir] = 0;
    *out = slash ? TAKE_PTR(dir) : strdup(".");
    return *out ? 0 : -ENOMEM;
}

/* Other users can plant a link in a shared directory (/tmp), so that root overwrites the file that it points to. This
 * is the kernel's rule for fs.protected_symlinks, which may be off: the owner must be the user or that of the
 * directory. */
static bool is_planted(const char *path, const struct stat *link)
{
    AUTO_FREE char *dir = NULL;
    struct stat st;
    if (folder_of(path, &dir) || stat(dir, &st))
        return true;
    bool shared = (st.st_mode & S_ISVTX) && (st.st_mode & S_IWOTH);
    return shared && link->st_uid != geteuid() && link->st_uid != st.st_uid;
}

/* /dev/stdout is a link to whatever the shell opened. A new file in its place would lose what is already in there. */
static int stream_of(const struct stat *st)
{
    struct stat stream;
    for (int fd = STDOUT_FILENO; fd <= STDERR_FILENO; fd++)
        if (!fstat(fd, &stream) && stream.st_dev == st->st_dev && stream.st_ino == st->st_ino)
            return fd;
    return -1;
}

static int open_place(const char *path, bool link, struct place *p)
{
    p->fd = open(path, O_PATH | O_CLOEXEC | (link ? 0 : O_NOFOLLOW));
    if (p->fd < 0 || fstat(p->fd, &p->st))
        return -errno;
    snprintf(p->self, sizeof(p->self), "/proc/self/fd/%d", p->fd);
    if (!link)
        return 0;
    ssize_t n = readlink(p->self, p->path, sizeof(p->path) - 1);
    if (n < 0)
        return -errno;
    p->path[n] = 0;
    p->stream = stream_of(&p->st);
    return 0;
}

/* Resolves the path once: what is checked is what is written to. */
static int find_place(const char *path, struct place *p)
{
    struct stat st;
    if (strlen(path) >= sizeof(p->path))
        return -ENAMETOOLONG;
    snprintf(p->path, sizeof(p->path), "%s", path);
    if (is_stdout(path)) {
        p->stream = STDOUT_FILENO;
        return 0;
    }
    if (lstat(path, &st))
        return errno == ENOENT ? 0 : -errno;
    if (S_ISLNK(st.st_mode) && is_planted(path, &st))
        return -EACCES;
    return open_place(path, S_ISLNK(st.st_mode), p);
}

/* May a new file be made beside `path`? */
static int directory_writable(const char *path)
{
    AUTO_FREE char *dir = NULL;
    int rc = folder_of(path, &dir);
    return rc ? rc : access(dir, W_OK) ? -errno : 0;
}

static int place_writable(const struct place *p)
{
    if (p->stream >= 0)
        return 0;
    if (p->fd < 0)
        return directory_writable(p->path);
    if (S_ISDIR(p->st.st_mode))
        return -EISDIR;
    if (S_ISLNK(p->st.st_mode))
        return -ELOOP; /* it has just been made: open_place did not follow it */
    if (S_ISBLK(p->st.st_mode) || S_ISSOCK(p->st.st_mode))
        return -ENOTSUP;
    return access(p->self, W_OK) ? -errno : 0;
}

int output_writable(const char *path)
{
    CLEANUP(place_close) struct place p = {.fd = -1, .stream = -1};
    int rc = find_place(path, &p);
    return rc ? rc : place_writable(&p);
}

static bool ends_in(const char *path, const char *suffix)
{
    size_t n = strlen(path), m = strlen(suffix);
    return n > m && !strcmp(path + n - m, suffix);
}

bool output_is_json(const char *path)
{
    return ends_in(path, ".json") || ends_in(path, ".json.gz");
}

/* Whether an output is for the timeline: .json is, except for what is speedscope's. */
static bool is_timeline(struct output *o, const char *format)
{
    bool firefox =
        format ? !strcmp(format, "gecko") : ends_in(o->path, ".gecko.json") || ends_in(o->path, ".gecko.json.gz");
    bool trace = format ? !strcmp(format, "trace") : output_is_json(o->path) && !encoder_for_path(o->path);
    o->timeline = firefox ? TIMELINE_FIREFOX : TIMELINE_TRACE;
    return firefox || trace;
}

static int choose(struct output *o, const char *format, bool timeline, char *why, size_t len)
{
    bool taken = timeline && is_timeline(o, format);
    o->gz = encoder_gzips(o->path, format);
    o->encoder = taken ? NULL : format ? encoder_by_name(format) : encoder_for_path(o->path);
    if (taken)
        ;
    else if (!o->encoder && is_timeline(o, format))
        snprintf(why, len, "-o %s: this format is for a timeline: give -e timeline, too", o->path);
    else if (!o->encoder && format)
        snprintf(why, len, "--format %s: there is no such format (see xprof record --help)", format);
    else if (!o->encoder && is_stdout(o->path))
        snprintf(why, len, "-o -: name the format with --format");
    else if (!o->encoder)
        snprintf(why, len, "-o %s: unknown suffix (see xprof record --help); name the format with --format", o->path);
    if (!o->encoder && !taken)
        return -EINVAL;
    int rc = output_writable(o->path);
    if (rc)
        snprintf(why, len, "-o %s: cannot be written: %s", o->path, strerror(-rc));
    return rc;
}

int outputs_open(struct outputs *o, const struct option_list *paths, const char *format, bool timeline, char *why,
                 size_t len)
{
    o->v = calloc(paths->n + 1, sizeof(*o->v));
    if (!o->v)
        return -ENOMEM;
    for (o->n = 0; o->n < paths->n; o->n++) {
        o->v[o->n].path = paths->v[o->n];
        int rc = choose(&o->v[o->n], format, timeline, why, len);
        if (rc)
            return rc;
    }
    return 0;
}

static int open_in_place(const struct place *p)
{
    int fd = p->stream >= 0 ? dup(p->stream) : open(p->self, O_WRONLY | O_TRUNC | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

/* The directory, or the file system, keeps the file from being replaced: it is bind-mounted by itself, for example. */
static bool is_refusal(int rc)
{
    return rc == -EBUSY || rc == -EACCES || rc == -EPERM || rc == -EROFS;
}

static int open_beside(const struct place *p, struct output_file *f)
{
    mode_t mask = umask(0);
    umask(mask);
    snprintf(f->temporary, sizeof(f->temporary), "%s.XXXXXX", p->path);
    int fd = mkostemp(f->temporary, O_CLOEXEC);
    if (fd < 0)
        return -errno;
    f->fd = fd;
    return fchmod(fd, p->fd >= 0 ? p->st.st_mode & 0777 : 0666 & ~mask) ? output_end(f, -errno) : 0;
}

static int begin(const char *path, struct output_file *f)
{
    CLEANUP(place_close) struct place p = {.fd = -1, .stream = -1};
    int rc = find_place(path, &p);
    if (!rc)
        rc = place_writable(&p);
    if (rc)
        return rc;
    snprintf(f->path, sizeof(f->path), "%s", p.path);
    bool exists = p.stream >= 0 || p.fd >= 0;
    bool replaced = !exists || (p.stream < 0 && S_ISREG(p.st.st_mode) && p.st.st_nlink); /* others have no name */
    if (replaced) {
        rc = open_beside(&p, f);
        if (!rc || !exists || !is_refusal(rc))
            return rc;
    }
    f->temporary[0] = 0;
    f->fd = open_in_place(&p);
    return f->fd < 0 ? f->fd : 0;
}

int output_begin(const char *path, bool gz, struct output_file *f)
{
    *f = (struct output_file){.fd = -1};
    int rc = begin(path, f);
    if (rc || !gz)
        return rc;
    rc = gz_stream_new(&f->gz, GZ_LEVEL);
    return rc ? output_end(f, rc) : 0;
}

static int add_gzipped(struct output_file *f, const void *data, size_t len, bool last)
{
    AUTO_BUF struct buf out = {0};
    int rc = gz_stream_add(f->gz, data, len, last, &out);
    return rc ? rc : fs_write_all(f->fd, out.data ? out.data : "", out.len);
}

int output_add(void *file, const void *data, size_t len)
{
    struct output_file *f = file;
    f->bytes += len;
    return f->gz ? add_gzipped(f, data, len, false) : fs_write_all(f->fd, data, len);
}

/* What is half written stays. */
static int copy_in_place(int from, const char *path)
{
    CLEANUP(place_close) struct place p = {.fd = -1, .stream = -1};
    char part[65536];
    int rc = find_place(path, &p);
    AUTO_CLOSE int fd = rc || p.fd < 0 ? -1 : open_in_place(&p);
    if (fd < 0)
        return rc ? rc : p.fd < 0 ? -ENOENT : fd;
    ssize_t n = lseek(from, 0, SEEK_SET) ? -1 : 1;
    while (!rc && n > 0 && (n = read(from, part, sizeof(part))) > 0)
        rc = fs_write_all(fd, part, (size_t)n);
    return n < 0 ? -errno : rc;
}

int output_end(struct output_file *f, int rc)
{
    if (f->gz && !rc)
        rc = add_gzipped(f, NULL, 0, true);
    gz_stream_free(&f->gz);
    AUTO_CLOSE int fd = TAKE_FD(f->fd);
    if (!f->temporary[0])
        return rc;
    if (!rc && rename(f->temporary, f->path)) {
        rc = -errno;
        if (is_refusal(rc) && !access(f->path, F_OK))
            rc = copy_in_place(fd, f->path);
    } else if (!rc) {
        return 0;
    }
    unlink(f->temporary);
    return rc;
}

/* A regular file is replaced by rename, or written in place where its directory does not allow that; so are pipes and
 * character devices. Symbolic links stay: the file that they point to is the one that is written. */
static int write_file(const char *path, bool gz, const void *data, size_t len)
{
    struct output_file f;
    int rc = output_begin(path, gz, &f);
    return rc ? rc : output_end(&f, output_add(&f, data, len));
}

int output_write_file(const char *path, const void *data, size_t len)
{
    return write_file(path, false, data, len);
}

static int write_one(struct output *o, const struct profile *p)
{
    AUTO_BUF struct buf out = {0};
    int rc = o->encoder->encode(p, &out);
    if (!rc && out.failed)
        rc = -ENOMEM;
    if (!rc)
        rc = write_file(o->path, o->gz, out.data ? out.data : "", out.len);
    if (rc)
        log_error("%s was not written: %s", o->path, strerror(-rc));
    o->written = !rc;
    return rc;
}

int outputs_write(struct outputs *o, const struct profile *p)
{
    int first = 0;
    for (size_t i = 0; i < o->n; i++) {
        int rc = o->v[i].encoder ? write_one(&o->v[i], p) : 0;
        if (!first)
            first = rc;
    }
    return first;
}

void outputs_report(const struct outputs *o, FILE *f)
{
    for (size_t i = 0; i < o->n; i++)
        if (o->v[i].written && !is_stdout(o->v[i].path))
            fprintf(f, "wrote %s\n", o->v[i].path);
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
