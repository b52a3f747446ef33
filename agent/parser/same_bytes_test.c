/* Files that are written to while they are looked at, through a mapping that leaves no trace in their times. A table is
 * never of other bytes than its key. */
#include "base/cleanup.h"
#include "base/fs.h"
#include "base/test.h"
#include "cfi/fixture.h"
#include "parser/merged_table.h"
#include "parser/synth_table.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>

static const u8 secret[16] = "sixteen bytes...";
static const struct table_limits limits = TABLE_LIMITS_DEFAULT;

/* A file with two bytes, apart from each other, that can have another value: four states. */
struct shifty {
    int fd, write_fd; /* the first one can only be read */
    u8 *map;          /* shared */
    size_t size;
    u64 at[2];
    u8 mask; /* what the other value differs in */
    pthread_t thread;
    bool stop;
};

static int shifty_open(struct shifty *s, const struct elf_file *e, u64 first, u64 second, u8 mask)
{
    char path[64];
    *s = (struct shifty){.fd = -1, .size = e->size, .at = {first, second}, .mask = mask, .map = MAP_FAILED};
    s->write_fd = memfd_create("shifty", MFD_CLOEXEC);
    if (s->write_fd < 0 || fs_write_all(s->write_fd, e->map, e->size))
        return -EIO;
    snprintf(path, sizeof(path), "/proc/self/fd/%d", s->write_fd);
    s->fd = open(path, O_RDONLY | O_CLOEXEC);
    s->map = mmap(NULL, s->size, PROT_READ | PROT_WRITE, MAP_SHARED, s->write_fd, 0);
    return s->fd < 0 || s->map == MAP_FAILED ? -EIO : 0;
}

static void shifty_close(struct shifty *s)
{
    if (s->map != MAP_FAILED)
        munmap(s->map, s->size);
    xp_cleanup_close(&s->fd);
    xp_cleanup_close(&s->write_fd);
}
#define AUTO_SHIFTY CLEANUP(shifty_close)
#define SHIFTY_NONE                                 \
    {                                               \
        .fd = -1, .write_fd = -1, .map = MAP_FAILED \
    }

static void shift(struct shifty *s, unsigned which)
{
    u8 *p = &s->map[s->at[which]];
    __atomic_store_n(p, *p ^ s->mask, __ATOMIC_RELAXED);
}

static void *shift_on(void *arg)
{
    struct shifty *s = arg;
    for (unsigned i = 0; !__atomic_load_n(&s->stop, __ATOMIC_RELAXED); i++)
        shift(s, i % 3 == 0);
    return NULL;
}

static bool shift_begin(struct shifty *s)
{
    return !pthread_create(&s->thread, NULL, shift_on, s);
}

static void shift_end(struct shifty *s)
{
    __atomic_store_n(&s->stop, true, __ATOMIC_RELAXED);
    pthread_join(s->thread, NULL);
}

/* ---- Tables ------------------------------------------------------------------------------------------------------ */

/* cfi.so, whose first and last "the CFA is 16 bytes up" may say 80 instead. */
static int open_cfi(struct shifty *s)
{
    static const u8 up_16[] = {0x0e, 16};
    AUTO_ELF struct elf_file e = {0};
    struct elf_section cfi;
    int err = fixture_elf("cfi.so", &e);
    if (err || !elf_section(&e, ".eh_frame", &cfi))
        return err ? err : -ENODATA;
    const u8 *end = cfi.data + cfi.len, *first = memmem(cfi.data, cfi.len, up_16, 2), *last = first;
    for (const u8 *p = first; p; p = memmem(p + 1, (size_t)(end - p - 1), up_16, 2))
        last = p;
    return last == first ? -ENODATA : shifty_open(s, &e, (u64)(first - e.map) + 1, (u64)(last - e.map) + 1, 64);
}

struct made {
    struct table_key key;
    struct buf image;
};

static int make_plain(int fd, struct made *out)
{
    CLEANUP(merged_free) struct merged_table *m = NULL;
    AUTO_FREE struct xp_table *t = NULL;
    size_t len = 0;
    int rc = merged_identify(fd, secret, &out->key, &m);
    if (!rc)
        rc = merged_make(m, &limits, &t, &len);
    out->image.len = 0;
    if (!rc)
        buf_add(&out->image, t, len);
    return rc;
}

static bool same_image(const struct buf *a, const struct buf *b)
{
    return a->len && a->len == b->len && !memcmp(a->data, b->data, a->len);
}

/* What there is for each state of the file. */
static void make_all(struct shifty *s, struct made all[4])
{
    for (unsigned i = 0; i < 4; i++) {
        make_plain(s->fd, &all[i]);
        shift(s, i % 2);
    }
}

static void made_free(struct made (*all)[5])
{
    for (unsigned i = 0; i < 5; i++)
        buf_free(&(*all)[i].image);
}

TEST(parser_makes_tables_of_what_it_identified)
{
    AUTO_SHIFTY struct shifty s = SHIFTY_NONE;
    CLEANUP(made_free) struct made all[5] = {0};
    CLEANUP(merged_free) struct merged_table *m = NULL;
    AUTO_FREE struct xp_table *t = NULL;
    struct table_key key;
    size_t len;
    CHECK_EQ(open_cfi(&s), 0);
    make_all(&s, all);
    for (unsigned i = 0; i < 4; i++)
        for (unsigned k = 0; k < i; k++)
            CHECK(!table_key_equal(&all[i].key, &all[k].key) && !same_image(&all[i].image, &all[k].image));
    CHECK_EQ(merged_identify(s.fd, secret, &key, &m), 0);
    CHECK(table_key_equal(&key, &all[0].key));
    memset(s.map, 0, s.size); /* now that it has been read */
    CHECK_EQ(merged_make(m, &limits, &t, &len), 0);
    CHECK(len == all[0].image.len && !memcmp(t, all[0].image.data, len));
}

/* However its bytes change: a key of one of its states comes with that state's table. */
TEST(parser_tables_of_shifty_files_are_those_of_their_keys)
{
    AUTO_SHIFTY struct shifty s = SHIFTY_NONE;
    CLEANUP(made_free) struct made all[5] = {0};
    struct made *one = &all[4];
    unsigned wrong = 0, known = 0;
    CHECK_EQ(open_cfi(&s), 0);
    make_all(&s, all);
    CHECK(shift_begin(&s));
    for (unsigned i = 0; i < 300; i++) {
        int rc = make_plain(s.fd, one);
        wrong += rc != 0;
        for (unsigned k = 0; k < 4; k++)
            if (table_key_equal(&one->key, &all[k].key)) {
                known++;
                wrong += !same_image(&one->image, &all[k].image);
            }
    }
    shift_end(&s);
    CHECK_EQ(wrong, 0);
    CHECK_EQ(known, 300);
}

/* The child remembers what it has identified; one that does not has to look anew, and says when it is another file. */
TEST(parser_tells_when_a_file_is_another_one_by_now)
{
    CLEANUP(parser_free) struct parser *p = NULL;
    CLEANUP(parser_reply_free) struct parser_reply kept = {0}, again = {0}, other = {.len = 77};
    AUTO_SHIFTY struct shifty s = SHIFTY_NONE;
    CLEANUP(made_free) struct made all[5] = {0};
    struct table_key key, changed;
    CHECK_EQ(open_cfi(&s), 0);
    make_all(&s, all);
    CHECK_EQ(parser_new(&p, &(struct parser_limits)PARSER_LIMITS_DEFAULT), 0);
    parser_set_secret(p, secret);
    CHECK_EQ(parser_identify(p, s.fd, &key), 0);
    shift(&s, 0);
    CHECK_EQ(parser_table(p, s.fd, &key, &kept), 0);
    CHECK(kept.len == all[0].image.len && !memcmp(kept.data, all[0].image.data, kept.len));
    CHECK_EQ(parser_table(p, s.fd, &key, &other), -ESTALE); /* it remembers once */
    CHECK_EQ(parser_identify(p, s.fd, &changed), 0);
    CHECK_EQ(parser_table(p, s.fd, &key, &other), -ESTALE); /* of another key it makes nothing */
    parser_rest(p);
    CHECK_EQ(parser_table(p, s.fd, &key, &other), -ESTALE);
    CHECK_EQ(other.len, 77);
    other = (struct parser_reply){0};
    shift(&s, 0);
    CHECK_EQ(parser_table(p, s.fd, &key, &again), 0);
    CHECK(again.len == kept.len && !memcmp(again.data, kept.data, kept.len));
    CHECK_EQ(parser_restarts(p), 0);
}

/* ---- Synthesised ones -------------------------------------------------------------------------------------------- */

/* trampoline.so, whose first and last "push rbx" may be another instruction. */
static int open_code(struct shifty *s, const char *name)
{
    char path[4096];
    AUTO_ELF struct elf_file e = {0};
    snprintf(path, sizeof(path), "%s/parser/%s", test_data(), name);
    AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
    int err = fd < 0 ? -errno : elf_open(&e, fd);
    return err ? err : shifty_open(s, &e, fixture_symbol(&e, "before"), fixture_symbol(&e, "after"), 3);
}

static int make_synth(int fd, const struct table_key *key, struct made *out)
{
    int rc = synth_identify(fd, secret, &out->key);
    out->image.len = 0;
    return rc ? rc : synth_table(fd, secret, key, &limits, &out->image);
}

TEST(synth_tables_are_of_what_was_read)
{
    AUTO_SHIFTY struct shifty s = SHIFTY_NONE;
    CLEANUP(synth_file_free) struct synth_file *f = NULL;
    CLEANUP(made_free) struct made all[5] = {0};
    struct made *late = &all[4];
    struct parser_synth x = {0};
    struct table_key key;
    CHECK_EQ(open_code(&s, "trampoline.so"), 0);
    CHECK_EQ(make_synth(s.fd, NULL, &all[0]), 0);
    CHECK_EQ(synth_file_read(&f, s.fd), 0);
    memset(s.map + 64, 0, s.size - 64); /* now that it has been read */
    CHECK_EQ(synth_file_key(f, secret, &key), 0);
    CHECK(table_key_equal(&key, &all[0].key));
    CHECK_EQ(synth_file_table(f, &limits, &late->image), 0);
    CHECK_EQ(synth_reply_open(late->image.data, late->image.len, &x), 0);
    CHECK(x.table);
    size_t head = late->image.len - x.len;
    CHECK(late->image.len == all[0].image.len);
    CHECK(!memcmp(late->image.data + head, all[0].image.data + head, x.len));
}

TEST(synth_tables_of_another_file_are_refused)
{
    AUTO_SHIFTY struct shifty s = SHIFTY_NONE;
    CLEANUP(made_free) struct made all[5] = {0};
    struct parser_synth x = {0};
    struct table_key key, plain;
    CHECK_EQ(open_code(&s, "trampoline.so"), 0);
    CHECK_EQ(synth_identify(s.fd, secret, &key), 0);
    CHECK_EQ(table_identify(s.fd, secret, &plain), 0);
    CHECK_EQ(make_synth(s.fd, &key, &all[0]), 0);
    CHECK_EQ(synth_reply_open(all[0].image.data, all[0].image.len, &x), 0);
    CHECK(!memcmp(x.plain, plain.digest, sizeof(x.plain)));
    shift(&s, 1);
    CHECK_EQ(make_synth(s.fd, &key, &all[1]), -ESTALE);
    CHECK_EQ(all[1].image.len, 0);
    CHECK_EQ(make_synth(s.fd, NULL, &all[1]), 0);
    CHECK(!same_image(&all[0].image, &all[1].image));
    CHECK_EQ(make_synth(s.fd, &all[1].key, &all[2]), 0);
}

/* It is somebody's state at every moment, but nobody knows whose: what is made is of the key that was asked for. */
TEST(synth_tables_of_shifty_files_are_those_of_their_keys)
{
    AUTO_SHIFTY struct shifty s = SHIFTY_NONE;
    CLEANUP(made_free) struct made all[5] = {0};
    struct made *one = &all[4];
    unsigned wrong = 0, good = 0, stale = 0;
    CHECK_EQ(open_code(&s, "trampoline.so"), 0);
    for (unsigned i = 0; i < 4; i++) {
        CHECK_EQ(synth_identify(s.fd, secret, &all[i].key), 0);
        CHECK_EQ(make_synth(s.fd, &all[i].key, &all[i]), 0);
        shift(&s, i % 2);
    }
    CHECK(!same_image(&all[0].image, &all[1].image) && !same_image(&all[0].image, &all[2].image));
    CHECK(shift_begin(&s));
    for (unsigned i = 0; i < 2000 && (i < 200 || !good || !stale); i++) {
        int rc = make_synth(s.fd, &all[i % 4].key, one);
        good += !rc;
        stale += rc == -ESTALE;
        wrong += rc ? rc != -ESTALE : !same_image(&one->image, &all[i % 4].image);
    }
    shift_end(&s);
    CHECK_EQ(wrong, 0);
    CHECK(good && stale);
}

TEST(synth_keys_are_not_for_large_files)
{
    AUTO_SHIFTY struct shifty s = SHIFTY_NONE;
    CLEANUP(made_free) struct made all[5] = {0};
    struct parser_synth x = {0};
    CHECK_EQ(open_code(&s, "trampoline.so"), 0);
    CHECK_EQ(make_synth(s.fd, NULL, &all[0]), 0);
    CHECK_EQ(ftruncate(s.write_fd, (off_t)SYNTH_MAX_KEYED + 1), 0);
    CHECK_EQ(make_synth(s.fd, NULL, &all[1]), -EFBIG);
    CHECK_EQ(synth_table(s.fd, secret, &all[0].key, &limits, &all[1].image), -EFBIG);
    CHECK_EQ(synth_table(s.fd, secret, NULL, &limits, &all[1].image), 0);
    CHECK_EQ(synth_reply_open(all[1].image.data, all[1].image.len, &x), 0);
    CHECK(x.table && x.table->source_rows[XP_SOURCE_SYNTH]);
}
