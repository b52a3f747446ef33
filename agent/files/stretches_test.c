/* Which stretches of a file's code are wanted, and when; and files that are read by stretches. */
#include "files/stretches.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/test.h"
#include "files/shelf_test.h"
#include "parser/synth_table.h"
#include "synth/crafted.h"
#include <fcntl.h>
#include <unistd.h>

TEST(stretches_are_noted_once_in_order)
{
    struct stretches s = {0};
    struct shares all = {.limit = 100};
    static const u32 numbers[] = {5, 1, 9, 5, 0, 9, 3};
    static const u32 sorted[] = {0, 1, 3, 5, 9};
    bool news[7];
    for (unsigned i = 0; i < 7; i++)
        news[i] = stretches_note(&s, &all, SHARES_ALL, numbers[i] * (u64)SYNTH_STRETCH + i);
    CHECK(news[0] && news[1] && news[2] && !news[3] && news[4] && !news[5] && news[6]);
    CHECK_EQ(s.wanted.n, 5);
    CHECK(!memcmp(s.wanted.v, sorted, sizeof(sorted)));
    CHECK(!stretches_note(&s, &all, SHARES_ALL, (u64)STRETCHES_LIMIT * SYNTH_STRETCH));
    stretches_free(&s, &all, SHARES_ALL);
    CHECK_EQ(all.used, 0);
    shares_free(&all);
}

TEST(stretches_are_bounded)
{
    struct stretches s = {0}, other = {0};
    struct shares all = {.limit = 100}, many = {.limit = STRETCHES_ALL};
    for (u64 i = 0; i < 100; i++)
        stretches_note(&s, &all, 7, i * SYNTH_STRETCH);
    CHECK_EQ(s.wanted.n, 80);
    CHECK(stretches_note(&other, &all, 8, 0)); /* another cgroup finds room */
    stretches_free(&s, &all, 7);
    stretches_free(&other, &all, 8);
    for (u64 i = 0; i < STRETCHES_MAX + 10; i++)
        stretches_note(&s, &many, SHARES_ALL, i * SYNTH_STRETCH);
    CHECK_EQ(s.wanted.n, STRETCHES_MAX);
    stretches_free(&s, &many, SHARES_ALL);
    shares_free(&all);
    shares_free(&many);
}

TEST(stretches_have_pauses)
{
    struct stretches s = {0};
    u64 start = 1000 * NS_PER_SEC;
    CHECK(stretches_due(&s, 0)); /* its first turn is that of a whole file */
    stretches_begin(&s, start);
    CHECK(stretches_due(&s, start));
    stretches_pause(&s, 1, start + 1);
    CHECK(!stretches_due(&s, start + STRETCHES_MIN_NS));
    CHECK(stretches_due(&s, start + STRETCHES_MIN_NS + 1));
    stretches_pause(&s, NS_PER_SEC, start);
    CHECK(!stretches_due(&s, start + NS_PER_SEC - 1));
    stretches_pause(&s, 1, start + 40 * NS_PER_SEC);
    CHECK(!stretches_due(&s, start + 49 * NS_PER_SEC));
    CHECK(stretches_due(&s, start + 50 * NS_PER_SEC));
    stretches_pause(&s, 1, start + 10000 * NS_PER_SEC);
    CHECK(stretches_due(&s, start + 10060 * NS_PER_SEC));
}

/* ---- Files ---- */

#define CODE_BYTES ((16u << 20) + 2 * SYNTH_STRETCH) /* more than is analysed as a whole */

/* push rbp; mov rbp, rsp; call rax; pop rbp; ret: functions of 16 bytes; `frames` false: without the first two. */
static int write_program(const char *path, bool frames)
{
    static const u8 with[16] = "\x55\x48\x89\xe5\xff\xd0\x5d\xc3\xcc\xcc\xcc\xcc\xcc\xcc\xcc\xcc";
    static const u8 without[16] = "\x53\xff\xd0\x5b\xc3\xcc\xcc\xcc\xcc\xcc\xcc\xcc\xcc\xcc\xcc\xcc";
    AUTO_FREE u8 *code = malloc(CODE_BYTES), *file = malloc(CRAFTED_BASE + CODE_BYTES);
    AUTO_CLOSE int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    for (size_t i = 0; i < CODE_BYTES; i += 16)
        memcpy(code + i, frames ? with : without, 16);
    crafted_file(file, code, CODE_BYTES);
    return write(fd, file, CRAFTED_BASE + CODE_BYTES) == CRAFTED_BASE + CODE_BYTES ? 0 : -1;
}

static const struct file *build(struct shelf *s, u32 id, bool frames)
{
    char path[128];
    snprintf(path, sizeof(path), "%s/%u", s->dir, id);
    if (write_program(path, frames))
        return NULL;
    struct file_job job = {.event.id = id, .fd = open(path, O_RDONLY | O_CLOEXEC), .path = strdup(path)};
    job.event.key = shelf_key_of(id, path);
    files_build(s->files, &job);
    return files_get(s->files, id);
}

static void wait_and_build(struct shelf *s)
{
    u64 deadline = now_ns() + 60 * NS_PER_SEC;
    while (!files_synth_waiting(s->files, now_ns()) && now_ns() < deadline)
        usleep(10000);
    s->files->synth_budget.ns = FILES_BUDGET_NS; /* however slow this machine is */
    files_synth_one(s->files);
}

TEST(stretches_of_files_that_are_too_large)
{
    AUTO_SHELF s = {.dir = ""};
    CHECK_EQ(shelf_new(&s, true), 0);
    const struct file *f = build(&s, 10, true);
    files_want_synth(s.files, 10, 5 * SYNTH_STRETCH + 6);
    wait_and_build(&s);
    CHECK(f->stretches.on && !f->synth_rows && files_is_open(s.files, 10));
    CHECK_EQ(files_synth_count(s.files, FILES_SYNTH_LIMIT), 1);
    wait_and_build(&s);
    CHECK_EQ(files_synth_count(s.files, FILES_SYNTH_STRETCHES), 1);
    u32 rows = f->synth_rows, uid = f->value.uid;
    CHECK(rows >= SYNTH_STRETCH / 16 * 3 && rows < SYNTH_STRETCH / 16 * 6);
    CHECK(files_is_open(s.files, 10) && fake_file(s.probe, &f->key).flags & XP_FILE_OPEN);
    CHECK(!files_synth_waiting(s.files, now_ns() + 3600 * NS_PER_SEC)); /* nothing is new */
    files_want_synth(s.files, 10, 5 * SYNTH_STRETCH + 99);
    CHECK(!files_synth_waiting(s.files, now_ns() + 3600 * NS_PER_SEC));
    files_want_synth(s.files, 10, 50 * SYNTH_STRETCH);
    wait_and_build(&s);
    CHECK(f->synth_rows > rows + rows / 2 && f->value.uid != uid);
    CHECK_EQ(files_synth_count(s.files, FILES_SYNTH_STRETCHES), 1); /* once for each file */
    CHECK_EQ(s.files->tables.n, 2);                                 /* with the empty one that it began with */
}

/* Code that keeps no frame pointers gets no rows, and is given up. */
TEST(stretches_without_rows_come_to_an_end)
{
    AUTO_SHELF s = {.dir = ""};
    CHECK_EQ(shelf_new(&s, false), 0);
    const struct file *f = build(&s, 10, false);
    for (u64 i = 0; i <= STRETCHES_TRIES; i++) {
        CHECK(files_is_open(s.files, 10));
        files_want_synth(s.files, 10, i * SYNTH_STRETCH);
        wait_and_build(&s);
    }
    CHECK(!files_is_open(s.files, 10) && !f->synth_rows);
    CHECK_EQ(s.files->stretch_shares.used, 0);
    files_want_synth(s.files, 10, 90 * SYNTH_STRETCH);
    CHECK(!files_synth_waiting(s.files, now_ns() + 3600 * NS_PER_SEC));
    CHECK_EQ(files_synth_count(s.files, FILES_SYNTH_STRETCHES), 0);
}
