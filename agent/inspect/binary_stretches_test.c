#include "base/fs.h"
#include "base/test.h"
#include "inspect/desk_test.h"
#include "inspect/inspect.h"
#include "parser/parser.h"
#include "parser/synth_table.h"
#include "synth/crafted.h"
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#define CODE_BYTES ((16u << 20) + 2 * SYNTH_STRETCH) /* more than is analysed as a whole */

/* An owned descriptor, opened for reading; the file is in the desk's folder. */
static int large_program(const struct desk *d)
{
    char path[128];
    AUTO_FREE u8 *code = malloc(CODE_BYTES), *file = malloc(CRAFTED_BASE + CODE_BYTES);
    crafted_functions(code, CODE_BYTES, true);
    crafted_file(file, code, CODE_BYTES);
    snprintf(path, sizeof(path), "%s/large", d->dir);
    return fs_replace_file(path, file, CRAFTED_BASE + CODE_BYTES, 0600) ? -1 : open(path, O_RDONLY | O_CLOEXEC);
}

TEST(binaries_derive_rows_by_stretches)
{
    AUTO_DESK d = {.dir = ""};
    const u64 offsets[] = {9 * SYNTH_STRETCH + 4, 2 * SYNTH_STRETCH + 4, 9 * SYNTH_STRETCH + 99};
    const struct parser_synth *s;
    const struct xp_table *whole;
    size_t n;
    CHECK_EQ(desk_new(&d), 0);
    u32 id = binaries_add(d.binaries, large_program(&d), "/large", 0);
    CHECK_EQ(binaries_whole_table(d.binaries, id, &whole), -E2BIG);
    CHECK_EQ(binaries_stretches(d.binaries, id, NULL, 0, &s), -ENODATA);
    CHECK(!s->table);
    CHECK_EQ(binaries_stretches(d.binaries, id, offsets, 3, &s), 0);
    CHECK(s->table && table_rule_at(s->table, offsets[0]).kind & XP_RULE_SYNTH);
    CHECK(table_rule_at(s->table, offsets[1]).kind & XP_RULE_SYNTH);
    CHECK_EQ(table_rule_at(s->table, 5 * SYNTH_STRETCH).kind, XP_CFA_NONE);
    const u32 *wanted = synth_stretches_wanted(s->stretches, &n);
    CHECK(n == 2 && wanted[0] == 2 && wanted[1] == 9);
    CHECK_EQ(binaries_stretches(d.binaries, id, offsets, 3, &s), -ENODATA);
    CHECK(s->table);
    CHECK_EQ(binaries_stretches(d.binaries, 12345, offsets, 3, &s), -ENOENT);
}

/* What stacks needed before is in the cache, and shown. */
TEST(inspect_shows_stretches)
{
    AUTO_DESK d = {.dir = ""};
    struct inspection i;
    struct xp_rule rule;
    CHECK_EQ(desk_new(&d), 0);
    AUTO_CLOSE int fd = large_program(&d);
    for (int run = 0; run < 2; run++) {
        u32 id = binaries_add(d.binaries, dup(fd), "/large", 0);
        CHECK_EQ(inspect(d.binaries, id, -1, &i), 0);
        CHECK(i.synth_tried && i.by_stretches && !i.synth_error);
        CHECK_EQ(i.nstretches, run);
        CHECK_EQ(i.covered > 0, run);
        inspection_free(&i);
        CHECK_EQ(inspect_rule(d.binaries, id, 3 * SYNTH_STRETCH + 4, &rule), 0);
        CHECK_EQ(XP_RULE_CFA(rule.kind), XP_CFA_RBP);
        CHECK_EQ(inspect_rule(d.binaries, id, 3 * SYNTH_STRETCH + 16, &rule), 0); /* known already */
        CHECK_EQ(XP_RULE_CFA(rule.kind), XP_CFA_RSP);
        struct binaries_config c = {.parser = d.parser, .cache = d.cache};
        binaries_free(&d.binaries);
        CHECK_EQ(binaries_new(&d.binaries, &c), 0);
    }
}
