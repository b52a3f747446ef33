/* Which files stay open, and when the others are closed and opened again. */
#include "base/clock.h"
#include "base/test.h"
#include "files/shelf_test.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static pid_t start_process(void)
{
    pid_t pid = fork();
    if (!pid) {
        pause();
        _exit(0);
    }
    return pid;
}

static void end_process(pid_t pid)
{
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

/* A file that a process maps; it is announced again if its ID is known. */
static const struct file *announce(struct shelf *s, u32 id, pid_t pid, int fd)
{
    char path[4096];
    snprintf(path, sizeof(path), "%s/elf/cfi.so", test_data());
    struct file_job job = {.event = {.id = id, .tgid = (u32)pid, .start = 4096, .end = 8192, .cgroup = 1},
                           .fd = fd < 0 ? fd : open(path, O_RDONLY | O_CLOEXEC),
                           .error = fd < 0 ? -ESRCH : 0,
                           .path = strdup(path)};
    job.event.key = shelf_key_of(id, path);
    files_build(s->files, &job);
    return files_get(s->files, id);
}

static bool is_asked(struct shelf *s, const struct file *f)
{
    return fake_file(s->probe, &f->key).asked;
}

static size_t left(const struct shelf *s)
{
    size_t n;
    files_left(s->files, &n);
    return n;
}

TEST(files_that_no_process_maps_are_closed)
{
    AUTO_SHELF s = {.dir = ""};
    CHECK_EQ(shelf_new(&s, false), 0);
    pid_t pid = start_process();
    const struct file *f = announce(&s, 10, pid, 0);
    struct files_held held = files_held(s.files);
    CHECK_EQ(held.files, 1);
    CHECK(held.bytes > 1000 && !held.deleted_bytes);
    shelf_age(&s, 8, 0);
    CHECK(f->fd >= 0 && !is_asked(&s, f)); /* not used, but there */
    end_process(pid);
    shelf_age(&s, 1, 10);
    CHECK(f->fd >= 0 && is_asked(&s, f)); /* stacks of the interval to come may name it */
    CHECK_EQ(fake_changes(s.probe), 1);
    CHECK_EQ(left(&s), 0);
    shelf_age(&s, 1, 10);
    CHECK(f->fd >= 0); /* they did */
    u32 uid = f->value.uid;
    shelf_age(&s, 1, 0);
    CHECK_EQ(f->fd, -1);
    CHECK_EQ(s.files->open_fds, 0);
    CHECK_EQ(files_held(s.files).files, 0);
    CHECK_EQ(left(&s), 1);
    CHECK_EQ(f->value.uid, uid); /* with its table */
    CHECK_EQ(fake_forgotten(s.probe), 0);
    shelf_age(&s, 1, 0);
    CHECK_EQ(left(&s), 0);
}

TEST(files_are_opened_again)
{
    AUTO_SHELF s = {.dir = ""};
    CHECK_EQ(shelf_new(&s, false), 0);
    pid_t pid = start_process(), other = start_process();
    const struct file *f = announce(&s, 10, pid, 0);
    end_process(pid);
    shelf_age(&s, 2, 0);
    CHECK_EQ(f->fd, -1);
    CHECK_EQ(announce(&s, 10, other, -1)->fd, -1); /* it could not be opened */
    shelf_age(&s, 1, 0);
    unsigned before = fake_changes(s.probe);
    shelf_age(&s, 1, 10); /* but stacks ran through it */
    CHECK_EQ(fake_changes(s.probe), before + 1);
    CHECK(is_asked(&s, f));
    CHECK_EQ(announce(&s, 10, other, 0), f);
    CHECK(f->fd >= 0);
    CHECK_EQ(s.files->open_fds, 1);
    CHECK_EQ(s.files->all.n, 1);
    shelf_age(&s, 8, 0);
    CHECK(f->fd >= 0);
    end_process(other);
    shelf_age(&s, 2, 0);
    CHECK_EQ(f->fd, -1);
}

/* In time: it was not closed yet. */
TEST(files_find_another_process)
{
    AUTO_SHELF s = {.dir = ""};
    CHECK_EQ(shelf_new(&s, false), 0);
    pid_t pid = start_process(), other = start_process();
    const struct file *f = announce(&s, 10, pid, 0);
    int fd = f->fd;
    end_process(pid);
    shelf_age(&s, 1, 0);
    CHECK(is_asked(&s, f));
    announce(&s, 10, other, 0);
    shelf_age(&s, 8, 0);
    CHECK_EQ(f->fd, fd);
    CHECK_EQ(s.files->open_fds, 1);
    end_process(other);
}

TEST(files_that_are_others_are_not_taken)
{
    AUTO_SHELF s = {.dir = ""};
    CHECK_EQ(shelf_new(&s, false), 0);
    pid_t pid = start_process();
    const struct file *f = announce(&s, 10, pid, 0);
    end_process(pid);
    shelf_age(&s, 2, 0);
    struct file_job job = {.event = {.id = 10, .tgid = (u32)getpid(), .key = f->key},
                           .fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC)};
    files_build(s.files, &job);
    CHECK_EQ(f->fd, -1);
    CHECK_EQ(f->tgid, (u32)pid);
}

/* The process is there, but maps it no more: it is another program now. */
TEST(files_are_looked_for_where_they_were_mapped)
{
    AUTO_SHELF s = {.dir = ""};
    CHECK_EQ(shelf_new(&s, false), 0);
    const struct file *f = announce(&s, 10, getpid(), 0);
    shelf_age(&s, 1, 0);
    CHECK(!is_asked(&s, f));
    s.files->all.v[0].mapped_ns = now_ns() - 61 * NS_PER_SEC;
    shelf_age(&s, 1, 10);
    CHECK(!is_asked(&s, f)); /* stacks ran through it */
    s.files->all.v[0].mapped_ns = now_ns() - 61 * NS_PER_SEC;
    shelf_age(&s, 1, 0);
    CHECK(is_asked(&s, f));
    shelf_age(&s, 1, 0);
    CHECK_EQ(f->fd, -1);
}

/* What was replaced, and what has no table. */
TEST(files_of_which_the_kernel_side_knows_nothing_are_closed)
{
    AUTO_SHELF s = {.dir = ""};
    CHECK_EQ(shelf_new(&s, false), 0);
    pid_t pid = start_process();
    announce(&s, 10, pid, 0);
    shelf_build(&s, 11, "elf/moved");
    s.files->all.v[0].error = -EBADMSG;
    s.files->all.v[1].replaced = true;
    shelf_age(&s, 1, 10);
    CHECK(s.files->all.v[0].fd >= 0 && s.files->all.v[1].fd >= 0);
    shelf_age(&s, 1, 10);
    CHECK_EQ(s.files->all.v[1].fd, -1);
    CHECK_EQ(left(&s), 0); /* its successor may be open */
    end_process(pid);
    shelf_age(&s, 1, 10);
    CHECK(s.files->all.v[0].fd >= 0);
    CHECK_EQ(fake_forgotten(s.probe), 0);
    shelf_age(&s, 1, 0);
    CHECK_EQ(s.files->all.v[0].fd, -1);
    CHECK_EQ(fake_forgotten(s.probe), 1);
}

/* The kernel side forgot one, and announces it under another number: the first one is for stacks in flight. */
TEST(files_of_one_key_follow_each_other)
{
    AUTO_SHELF s = {.dir = ""};
    CHECK_EQ(shelf_new(&s, false), 0);
    const struct file *f = announce(&s, 10, getpid(), 0);
    struct file_job job = {.event = {.id = 20, .key = f->key}, .fd = fcntl(f->fd, F_DUPFD_CLOEXEC, 3)};
    files_build(s.files, &job);
    CHECK(files_get(s.files, 10)->replaced && !files_get(s.files, 20)->replaced);
}
