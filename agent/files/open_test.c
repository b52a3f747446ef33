#include "base/clock.h"
#include "base/test.h"
#include "files/shelf_test.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/mman.h>

static int add_hung(struct shelf *s, struct hung **h)
{
    int rc = hung_new(h);
    files_open_with(s->files, NULL, *h);
    return rc;
}

/* Its file system is known not to answer: it is neither opened nor read, and announced again when that may be over. */
TEST(files_that_hang_are_left_alone)
{
    CLEANUP(hung_free) struct hung *h = NULL;
    AUTO_SHELF s = {.dir = ""};
    char path[128];
    CHECK_EQ(shelf_new(&s, false), 0);
    CHECK_EQ(add_hung(&s, &h), 0);
    snprintf(path, sizeof(path), "%s/elf/cfi.so", test_data());
    struct xp_file_event e = {.id = 7, .cgroup = 3, .magic = FUSE_SUPER_MAGIC, .key = shelf_key_of(7, path)};
    struct hung_place place = hung_place_of(&e);
    hung_note(h, &place, now_ns());
    struct file_job job = {.event = e, .fd = -1}, open_job = {.event = e, .fd = open(path, O_PATH | O_CLOEXEC)};
    open_job.event.id = 8;
    open_job.event.key.generation++; /* another one of the same device */
    files_build(s.files, &job);
    files_build(s.files, &open_job);
    for (u32 id = 7; id <= 8; id++) {
        const struct file *f = files_get(s.files, id);
        CHECK_EQ(f->error, -EREMOTEIO);
        CHECK_EQ(fake_file(s.probe, &f->key).state, XP_FILE_HUNG);
        CHECK(files_is_hung(s.files, f));
    }
    u8 byte;
    CHECK_EQ(files_read(s.files, files_get(s.files, 8), 0, &byte, 1), -EREMOTEIO);
    CHECK_EQ(fake_forgotten(s.probe), 0);
    files_tick(s.files, now_ns() + HUNG_FIRST_NS);
    CHECK_EQ(fake_forgotten(s.probe), 2);
    hung_answered(h, &place);
    CHECK_EQ(files_read(s.files, files_get(s.files, 8), 1, &byte, 1), 0);
    CHECK_EQ(byte, 'E');
}

/* A job that nobody has opened is opened when it is built; what answers is not said to hang. */
TEST(files_are_opened_when_they_are_built)
{
    CLEANUP(hung_free) struct hung *h = NULL;
    AUTO_SHELF s = {.dir = ""};
    char path[128];
    CHECK_EQ(shelf_new(&s, false), 0);
    CHECK_EQ(add_hung(&s, &h), 0);
    snprintf(path, sizeof(path), "%s/elf/cfi.so", test_data());
    AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
    void *map = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
    struct file_job job = {.event = {.id = 7,
                                     .tgid = (u32)getpid(),
                                     .start = (u64)map,
                                     .end = (u64)map + 4096,
                                     .key = shelf_key_of(7, path)},
                           .fd = -1};
    struct file_job tried = job;
    file_job_open(&tried, NULL, h);
    if (tried.error == -EPERM)
        SKIP("the kernel opens map_files only for CAP_SYS_ADMIN");
    file_job_try(&tried, s.parser, h);
    CHECK(tried.fd >= 0 && !tried.error && tried.path && !strcmp(tried.path + strlen(tried.path) - 6, "cfi.so"));
    close(tried.fd);
    free(tried.path);
    files_build(s.files, &job);
    munmap(map, 4096);
    CHECK_EQ(files_get(s.files, 7)->error, 0);
    CHECK(files_get(s.files, 7)->rows > 0);
    CHECK_EQ(hung_places(h, now_ns()), 0);
}
