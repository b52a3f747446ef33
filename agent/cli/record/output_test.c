#include "cli/record/output.h"
#include "base/cleanup.h"
#include "base/fs.h"
#include "base/gz.h"
#include "base/test.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

struct folder {
    char dir[32], file[64], link[64];
};

static int make_folder(struct folder *f)
{
    snprintf(f->dir, sizeof(f->dir), "/tmp/xprof-output-XXXXXX");
    if (!mkdtemp(f->dir))
        return -errno;
    snprintf(f->file, sizeof(f->file), "%s/file", f->dir);
    snprintf(f->link, sizeof(f->link), "%s/link", f->dir);
    return 0;
}

static void remove_folder(struct folder *f)
{
    unlink(f->file);
    unlink(f->link);
    rmdir(f->dir);
}

static bool holds(const char *path, const char *text)
{
    AUTO_FREE char *data = NULL;
    return !fs_read_file(path, 100, &data, NULL) && !strcmp(data, text);
}

static bool is_link(const char *path)
{
    struct stat st;
    return !lstat(path, &st) && S_ISLNK(st.st_mode);
}

TEST(output_replaces_files)
{
    CLEANUP(remove_folder) struct folder f;
    struct stat old, new;
    CHECK_EQ(make_folder(&f), 0);
    CHECK_EQ(output_write_file(f.file, "one", 3), 0);
    CHECK(holds(f.file, "one"));
    CHECK_EQ(chmod(f.file, 0640), 0);
    CHECK_EQ(stat(f.file, &old), 0);
    CHECK_EQ(output_writable(f.file), 0);
    CHECK_EQ(output_write_file(f.file, "two", 3), 0);
    CHECK(holds(f.file, "two"));
    CHECK_EQ(stat(f.file, &new), 0);
    CHECK_EQ(new.st_mode & 0777, 0640);
    CHECK(old.st_ino != new.st_ino);
}

TEST(output_writes_through_links)
{
    CLEANUP(remove_folder) struct folder f;
    struct stat old, new;
    CHECK_EQ(make_folder(&f), 0);
    CHECK_EQ(symlink("file", f.link), 0);
    CHECK_EQ(output_writable(f.link), -ENOENT);
    CHECK_EQ(output_write_file(f.link, "x", 1), -ENOENT);
    CHECK_EQ(output_write_file(f.file, "longer", 6), 0);
    CHECK_EQ(stat(f.file, &old), 0);
    CHECK_EQ(output_writable(f.link), 0);
    CHECK_EQ(output_write_file(f.link, "new", 3), 0);
    CHECK(is_link(f.link));
    CHECK(holds(f.file, "new"));
    CHECK_EQ(stat(f.file, &new), 0);
    CHECK(old.st_ino != new.st_ino); /* all or nothing, too */
}

TEST(output_keeps_links_to_devices_and_pipes)
{
    CLEANUP(remove_folder) struct folder f;
    AUTO_CLOSE int in = -1, out = -1;
    char path[32], text[8] = "";
    int ends[2];
    CHECK_EQ(make_folder(&f), 0);
    CHECK_EQ(symlink("/dev/null", f.link), 0);
    CHECK_EQ(output_writable(f.link), 0);
    CHECK_EQ(output_write_file(f.link, "x", 1), 0);
    CHECK(is_link(f.link));
    CHECK_EQ(pipe2(ends, O_CLOEXEC), 0);
    in = ends[0];
    out = ends[1];
    snprintf(path, sizeof(path), "/dev/fd/%d", out); /* as bash's >(COMMAND) */
    CHECK_EQ(output_writable(path), 0);
    CHECK_EQ(output_write_file(path, "piped", 5), 0);
    CHECK_EQ(read(in, text, sizeof(text)), 5);
    CHECK_STR(text, "piped");
}

/* With `{ echo head; xprof ... -o /dev/stdout; } >file` the file must still be the shell's. /dev/stdout points to the
 * path used here, which a fault of ours cannot replace. */
TEST(output_to_standard_streams)
{
    CLEANUP(remove_folder) struct folder f;
    CHECK_EQ(make_folder(&f), 0);
    fflush(stdout);
    AUTO_CLOSE int saved = dup(STDOUT_FILENO), file = open(f.file, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    CHECK_EQ(fs_write_all(file, "head ", 5), 0);
    CHECK_EQ(dup2(file, STDOUT_FILENO), STDOUT_FILENO);
    int writable = output_writable("/proc/self/fd/1"), rc = output_write_file("/proc/self/fd/1", "body ", 5);
    int dash = output_write_file("-", "tail", 4);
    CHECK_EQ(dup2(saved, STDOUT_FILENO), STDOUT_FILENO);
    CHECK_EQ(writable, 0);
    CHECK_EQ(rc, 0);
    CHECK_EQ(dash, 0);
    CHECK(holds(f.file, "head body tail"));
}

TEST(output_refuses_planted_links)
{
    CLEANUP(remove_folder) struct folder f;
    if (geteuid())
        SKIP("only root can make a link of somebody else's");
    CHECK_EQ(make_folder(&f), 0);
    CHECK_EQ(output_write_file(f.file, "old", 3), 0);
    CHECK_EQ(symlink(f.file, f.link), 0);
    CHECK_EQ(lchown(f.link, 65534, 65534), 0);
    CHECK_EQ(output_write_file(f.link, "new", 3), 0); /* nobody else can put a link there */
    CHECK_EQ(chmod(f.dir, 01777), 0);
    CHECK_EQ(output_writable(f.link), -EACCES);
    CHECK_EQ(output_write_file(f.link, "bad", 3), -EACCES);
    CHECK(holds(f.file, "new"));
}

TEST(output_refuses_directories)
{
    CLEANUP(remove_folder) struct folder f;
    CHECK_EQ(make_folder(&f), 0);
    CHECK_EQ(output_writable(f.dir), -EISDIR);
    CHECK_EQ(output_write_file(f.dir, "x", 1), -EISDIR);
    CHECK_EQ(output_writable("/nonexistent/file"), -ENOENT);
}

TEST(outputs_report_what_was_written)
{
    CLEANUP(remove_folder) struct folder f;
    AUTO_OUTPUTS struct outputs o = {0};
    AUTO_FREE char *text = NULL;
    char why[128] = "", line[80];
    size_t len;
    CHECK_EQ(make_folder(&f), 0);
    char *paths[] = {f.file, f.link};
    struct option_list list = {.v = paths, .n = 2};
    struct profile p;
    CHECK_EQ(profile_init(&p), 0);
    CHECK_EQ(outputs_open(&o, &list, "collapsed", false, why, sizeof(why)), 0);
    int linked = symlink("nowhere", f.link), rc = outputs_write(&o, &p); /* the second one has become unwritable */
    profile_free(&p);
    CHECK_EQ(linked, 0);
    CHECK_EQ(rc, -ENOENT);
    AUTO_FCLOSE FILE *out = open_memstream(&text, &len);
    outputs_report(&o, out);
    fflush(out);
    snprintf(line, sizeof(line), "wrote %s\n", f.file);
    CHECK_STR(text, line);
}

TEST(outputs_are_gzipped_by_their_suffix)
{
    CLEANUP(remove_folder) struct folder f;
    AUTO_OUTPUTS struct outputs o = {0};
    AUTO_FREE char *data = NULL;
    AUTO_BUF struct buf text = {0};
    char why[128] = "";
    size_t len = 0;
    CHECK_EQ(make_folder(&f), 0);
    snprintf(f.file, sizeof(f.file), "%s/x.svg.gz", f.dir);
    char *paths[] = {f.file};
    struct option_list list = {.v = paths, .n = 1};
    struct profile p;
    CHECK_EQ(profile_init(&p), 0);
    CHECK_EQ(outputs_open(&o, &list, NULL, false, why, sizeof(why)), 0);
    int rc = outputs_write(&o, &p);
    profile_free(&p);
    CHECK_EQ(rc, 0);
    CHECK_EQ(fs_read_file(f.file, 1 << 20, &data, &len), 0);
    CHECK_EQ(gz_expand(data, len, 1 << 20, &text), 0);
    CHECK(text.len > 10 && memmem(text.data, text.len, "<svg", 4));
}

/* What is wrong is said before anything is recorded. */
TEST(outputs_that_cannot_be)
{
    static const struct {
        const char *path, *format, *says;
        int rc;
    } rows[] = {
        {"x.svg", "nope", "--format nope: there is no such format (see xprof record --help)", -EINVAL},
        {"-", NULL, "-o -: name the format with --format", -EINVAL},
        {"x.odd", NULL, "-o x.odd: unknown suffix (see xprof record --help); name the format with --format", -EINVAL},
        {"/nowhere/x.svg", NULL, "-o /nowhere/x.svg: cannot be written: No such file or directory", -ENOENT},
        {"-", "pprof", "", 0},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        AUTO_OUTPUTS struct outputs o = {0};
        char why[256] = "", *paths[] = {(char *)(uintptr_t)rows[i].path};
        struct option_list list = {.v = paths, .n = 1};
        CHECK_EQ(outputs_open(&o, &list, rows[i].format, false, why, sizeof(why)), rows[i].rc);
        CHECK_STR(why, rows[i].says);
        outputs_free(&o);
        CHECK(!o.v && !o.n);
    }
}

TEST(output_refuses_what_is_no_file)
{
    CLEANUP(remove_folder) struct folder f;
    char path[PATH_MAX + 1];
    CHECK_EQ(make_folder(&f), 0);
    AUTO_CLOSE int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    snprintf(at.sun_path, sizeof(at.sun_path), "%s", f.file);
    CHECK_EQ(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
    CHECK_EQ(output_writable(f.file), -ENOTSUP);
    CHECK_EQ(output_write_file(f.file, "x", 1), -ENOTSUP);
    memset(path, 'x', PATH_MAX);
    path[PATH_MAX] = 0;
    CHECK_EQ(output_writable(path), -ENAMETOOLONG);
}

TEST(output_has_the_permissions_of_any_new_file)
{
    CLEANUP(remove_folder) struct folder f;
    struct stat st;
    CHECK_EQ(make_folder(&f), 0);
    mode_t before = umask(027);
    int rc = output_write_file(f.file, "x", 1);
    mode_t after = umask(before);
    CHECK_EQ(rc, 0);
    CHECK_EQ(after, 027);
    CHECK_EQ(stat(f.file, &st), 0);
    CHECK_EQ(st.st_mode & 0777, 0640);
}

/* Run as somebody else, which only a child can undo: 0 when all is as it should be. */
static int check_cache_dirs(void)
{
    char path[64];
    if (!geteuid() && strcmp(output_cache_dir(path, sizeof(path)), "/var/cache/xprof"))
        return 1;
    if (!geteuid() && seteuid(65534))
        return 2;
    unsetenv("XDG_CACHE_HOME");
    setenv("HOME", "/my-home", 1);
    if (strcmp(output_cache_dir(path, sizeof(path)), "/my-home/.cache/xprof"))
        return 3;
    setenv("XDG_CACHE_HOME", "/caches", 1);
    if (strcmp(output_cache_dir(path, sizeof(path)), "/caches/xprof"))
        return 4;
    unsetenv("XDG_CACHE_HOME");
    unsetenv("HOME");
    return strcmp(output_cache_dir(path, sizeof(path)), "/tmp/.cache/xprof") ? 5 : 0;
}

TEST(output_cache_is_where_caches_are)
{
    int status = -1;
    pid_t child = fork();
    if (!child)
        _exit(check_cache_dirs());
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    CHECK_EQ(status, 0);
}
