#include "parser/startup_rows.h"
#include "base/cleanup.h"
#include "base/fs.h"
#include "base/test.h"
#include "cfi/fixture.h"
#include "cfi/table_elf.h"
#include "parser/merged_table.h"
#include "parser/synth_table.h"
#include <string.h>

static const u8 secret[16] = "sixteen bytes...";

/* A copy of plt in which `at` (0: nothing) is another byte. */
static int make(u64 at, struct table_key *key, struct xp_table **out)
{
    AUTO_ELF struct elf_file e = {0};
    CLEANUP(merged_free) struct merged_table *m = NULL;
    struct table_limits limits = TABLE_LIMITS_DEFAULT;
    size_t len;
    int err = fixture_elf("plt", &e);
    AUTO_FREE u8 *copy = err ? NULL : malloc(e.size);
    if (!copy)
        return err ? err : -1;
    memcpy(copy, e.map, e.size);
    if (at)
        copy[at] = 0x90;
    AUTO_CLOSE int fd = fs_sealed_memfd("plt", copy, e.size);
    err = merged_identify(fd, secret, key, &m);
    return err ? err : merged_make(m, &limits, out, &len);
}

TEST(startup_rows_are_in_the_first_table)
{
    AUTO_ELF struct elf_file e = {0};
    AUTO_FREE struct xp_table *plain = fixture_table("plt"), *t = NULL;
    struct table_key key;
    CHECK_EQ(fixture_elf("plt", &e), 0);
    CHECK_EQ(make(0, &key, &t), 0);
    u64 at = fixture_symbol(&e, "__do_global_dtors_aux"), end = fixture_symbol(&e, "frame_dummy");
    for (u64 i = at; t && i <= end; i++) {
        CHECK_EQ(table_rule_at(plain, i).kind, XP_CFA_NONE);
        CHECK(table_rule_at(t, i).kind & XP_RULE_SYNTH);
    }
    CHECK(t && t->source_rows[XP_SOURCE_SYNTH] > 1);
    CHECK_EQ(t->source_rows[XP_SOURCE_EH_FRAME], plain->source_rows[XP_SOURCE_EH_FRAME]);
}

/* Where they differ, so do the tables: so must the keys, and the other key that mentions this one. */
TEST(startup_rows_are_part_of_the_key)
{
    static const u8 push_rbp = 0x55;
    AUTO_ELF struct elf_file e = {0};
    AUTO_FREE struct xp_table *one = NULL, *two = NULL;
    AUTO_BUF struct buf out = {0};
    struct table_limits limits = TABLE_LIMITS_DEFAULT;
    struct parser_synth s = {0};
    struct table_key key[2], again;
    CHECK_EQ(fixture_elf("plt", &e), 0);
    u64 at = fixture_symbol(&e, "__do_global_dtors_aux"), end = fixture_symbol(&e, "frame_dummy");
    const u8 *push = memchr(e.map + at, push_rbp, end - at);
    CHECK(push);
    CHECK_EQ(make(0, &key[0], &one), 0);
    CHECK_EQ(make((u64)(push - e.map), &key[1], &two), 0);
    CHECK(!table_key_equal(&key[0], &key[1]));
    AUTO_CLOSE int fd = fixture_fd("plt");
    CHECK_EQ(synth_identify(fd, secret, &again), 0);
    CHECK_EQ(synth_table(fd, secret, &again, &limits, &out), 0);
    CHECK_EQ(synth_reply_open(out.data, out.len, &s), 0);
    CHECK(!memcmp(s.plain, key[0].digest, sizeof(s.plain)));
}

/* Without any other row, a file goes on by frame pointers. */
TEST(startup_rows_alone_make_no_table)
{
    AUTO_ELF struct elf_file e = {0};
    AUTO_INPUT struct table_input in = {0};
    AUTO_FREE struct xp_table *t = NULL;
    CLEANUP(startup_rows_free) struct startup_rows rows = {0};
    struct table_limits limits = TABLE_LIMITS_DEFAULT;
    size_t len;
    CHECK_EQ(fixture_elf("plt", &e), 0);
    CHECK_EQ(startup_rows_read(&e, &rows), 0);
    CHECK(rows.codes.n);
    CHECK_EQ(table_read(&in, &e, -1, NULL), 0);
    in.gaps = rows.codes.v;
    in.ngaps = rows.codes.n;
    in.cfi.nsections = 0;
    in.known.n = 0;
    CHECK_EQ(table_make(&in, NULL, 0, &limits, &t, &len), 0);
    CHECK(t && t->flags & XP_TABLE_FP_OK && !t->nblocks);
}
