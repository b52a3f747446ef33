/* Images that are not what they say. */
#include "base/cleanup.h"
#include "base/hash.h"
#include "base/test.h"
#include "cfi/fixture.h"
#include "cfi/table.h"
#include <errno.h>

/* A change to a field of the image that the checksum is told of. */
static int check_with(const struct xp_table *t, size_t len, size_t at, u32 value)
{
    AUTO_FREE char *copy = malloc(len);
    memcpy(copy, t, len);
    memcpy(copy + at, &value, sizeof(value));
    struct xp_table *x = (struct xp_table *)copy;
    x->checksum = hash_block(x + 1, len - sizeof(*x), 0);
    return table_check(copy, len);
}

TEST(table_check_finds_every_lie)
{
    AUTO_CLOSE int fd = fixture_fd("cfi.so");
    AUTO_FREE struct xp_table *t = NULL;
    struct table_limits limits = TABLE_LIMITS_DEFAULT;
    size_t len;
    CHECK_EQ(table_build(fd, &limits, &t, &len), 0);
    CHECK_EQ(table_check(t, len), 0);
    for (size_t n = 0; n < len; n += n < 200 ? 1 : 37)
        CHECK_EQ(table_check(t, n), -EBADMSG);
    size_t index = sizeof(*t), rows = index + 4 * (t->nblocks + 1), rules = rows + 4 * t->nrows;
    CHECK_EQ(check_with(t, len, rows + 4, table_rows(t)[1]), 0);
    static const size_t header[] = {offsetof(struct xp_table, magic),   offsetof(struct xp_table, version),
                                    offsetof(struct xp_table, nblocks), offsetof(struct xp_table, nrows),
                                    offsetof(struct xp_table, nrules),  offsetof(struct xp_table, flags)};
    for (size_t i = 0; i < sizeof(header) / sizeof(header[0]); i++)
        CHECK_EQ(check_with(t, len, header[i], 0xfffffff0), -EBADMSG);
    CHECK_EQ(check_with(t, len, offsetof(struct xp_table, lo), (u32)t->lo + 1), -EBADMSG);
    CHECK_EQ(check_with(t, len, index, 0), -EBADMSG);
    CHECK_EQ(check_with(t, len, index + 4, t->nrows + 1), -EBADMSG);
    CHECK_EQ(check_with(t, len, rows, 1), -EBADMSG);                              /* the sentinel */
    CHECK_EQ(check_with(t, len, rows + 8, table_rows(t)[1]), -EBADMSG);           /* not ascending */
    CHECK_EQ(check_with(t, len, rows + 8, table_rows(t)[2] | 1 << 15), -EBADMSG); /* beyond its block */
    CHECK_EQ(check_with(t, len, rows + 4, (table_rows(t)[1] & 0xffff) | t->nrules << 16), -EBADMSG);
    CHECK_EQ(check_with(t, len, rules + 8 + 4, 31 << 16), -EBADMSG); /* an unknown kind */
    CHECK_EQ(check_with(t, len, rules + 4, XP_CFA_RSP << 16), -EBADMSG);
    CHECK_EQ(check_with(t, len, rules + 8 + 4, (XP_CFA_RSP_DEREF | XP_RULE_SYNTH) << 16), 0);
    CHECK_EQ(check_with(t, len, rules + 8 + 4, (XP_CFA_UNPROVEN | XP_RULE_SYNTH) << 16), 0);
    static const u8 never_synthesised[] = {XP_CFA_NONE,    XP_CFA_PLT,  XP_CFA_SIGNAL,
                                           XP_CFA_RBP_HOP, XP_CFA_GO_G, XP_CFA_UNSUPPORTED};
    for (size_t i = 0; i < sizeof(never_synthesised); i++)
        CHECK_EQ(check_with(t, len, rules + 8 + 4, (never_synthesised[i] | XP_RULE_SYNTH) << 16), -EBADMSG);
    for (u32 reg = 14; reg < 17; reg++) /* the return address is in a register, of which there are sixteen */
        CHECK_EQ(check_with(t, len, rules + 8 + 4, XP_CFA_RA_REG << 16 | reg), reg < 16 ? 0 : -EBADMSG);
    CHECK_EQ(check_with(t, len, rules + 8 + 4, XP_CFA_RA_REG << 16 | 0xffff), -EBADMSG);
    CHECK_EQ(check_with(t, len, rows + 4 * (t->nrows - 1), (table_rows(t)[t->nrows - 1] & 0xffff) | 1 << 16),
             -EBADMSG); /* something is said of what is behind the last row */
    char *raw = (char *)t;
    raw[len - 1] ^= 1; /* the checksum is not told */
    CHECK_EQ(table_check(t, len), -EBADMSG);
}
