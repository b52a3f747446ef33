#include "discover/parts.h"
#include "base/test.h"
#include <errno.h>

struct told { /* the kernel side */
    int rc;
    unsigned calls;
    u32 row;
    u16 every;
};

static int on_parts(void *ctx, u32 row, const struct xp_parts *parts)
{
    struct told *t = ctx;
    t->calls++;
    if (!t->rc) {
        t->row = row;
        t->every = parts->every[1];
    }
    return t->rc;
}

static u32 row_of(struct parts *p, u16 every)
{
    struct xp_parts parts = {.every = {[1] = every}};
    return parts_row(p, &parts);
}

TEST(parts_are_numbered_and_told_once)
{
    struct parts p = {0};
    struct told t = {.rc = -ENOMEM};
    u32 two = row_of(&p, 2), three = row_of(&p, 3);
    CHECK(two == 1 && three == 2 && row_of(&p, 2) == two);
    CHECK_EQ(parts_tell(&p, 0, on_parts, &t), 0);
    CHECK_EQ(t.calls, 0);
    CHECK_EQ(parts_tell(&p, three, on_parts, &t), -ENOMEM);
    t.rc = 0;
    CHECK_EQ(parts_tell(&p, three, on_parts, &t), 0);
    CHECK_EQ(parts_tell(&p, three, on_parts, &t), 0);
    CHECK(t.calls == 2 && t.row == three && t.every == 3);
    parts_free(&p);
}

TEST(parts_that_nobody_requests_make_room)
{
    struct parts p = {0};
    struct told t = {0};
    for (u16 every = 1; every < XP_MAX_PARTS; every++)
        CHECK_EQ(row_of(&p, every), every);
    CHECK(!p.full && !row_of(&p, 500) && p.full);
    CHECK_EQ(parts_tell(&p, 7, on_parts, &t), 0);
    parts_begin(&p);
    for (u16 every = 1; every < XP_MAX_PARTS; every++)
        if (every != 7)
            row_of(&p, every);
    parts_end(&p);
    CHECK(!p.full && row_of(&p, 8) == 8 && row_of(&p, 500) == 7);
    CHECK_EQ(parts_tell(&p, 7, on_parts, &t), 0);
    CHECK(t.calls == 2 && t.every == 500);
    parts_free(&p);
}
