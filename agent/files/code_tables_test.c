/* Tables of generated code come, are replaced, and go with their process. */
#include "files/code_tables.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/test.h"
#include "cfi/fixture.h"
#include "probe/fake_test.h"
#include <errno.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

struct desk {
    struct probe *probe;
    struct code_tables *tables;
    struct xp_table *image[2]; /* different ones */
};
static void desk_free(struct desk *d)
{
    code_tables_free(&d->tables);
    probe_free(&d->probe);
    free(d->image[0]);
    free(d->image[1]);
}

static int desk_new(struct desk *d, bool share)
{
    char why[256];
    struct probe_config c = {.table_bytes = 16 << 20};
    d->image[0] = fixture_table("cfi.so");
    d->image[1] = fixture_table("dwarf-2");
    int rc = probe_new(&d->probe, &c, why, sizeof(why));
    return rc ? rc : !d->image[0] || !d->image[1] ? -1 : code_tables_new(&d->tables, d->probe, share);
}
#define DESK(share)                         \
    CLEANUP(desk_free) struct desk d = {0}; \
    if (desk_new(&d, share))                \
    SKIP("no fixtures")

static struct code_owner owner(u32 tgid, u64 stack)
{
    return (struct code_owner){.tgid = tgid, .start = 5, .stack = stack, .cgroup = 7};
}

static size_t published(const struct desk *d)
{
    size_t n;
    fake_regions(d->probe, &n);
    return n;
}

static const struct xp_file *find(const struct desk *d, u32 tgid, u64 process_start, u64 start)
{
    return code_tables_find(d->tables, tgid, process_start, start, now_ns());
}

TEST(code_tables_are_replaced_by_later_ones)
{
    DESK(true);
    u64 before = now_ns();
    struct code_owner who = owner((u32)getpid(), 9);
    struct generated g = {.nregions = 2};
    g.regions[0] = (struct generated_region){0x1000, 0x2000, d.image[0]};
    g.regions[1] = (struct generated_region){0x3000, 0x4000, d.image[0]};
    code_tables_put(d.tables, &who, &g);
    CHECK_EQ(published(&d), 2);
    CHECK_EQ(fake_changes(d.probe), 1);
    CHECK(!code_tables_find(d.tables, who.tgid, 5, 0x1000, before)); /* what was there is not known */
    const struct xp_file *first = find(&d, who.tgid, 5, 0x1000);
    CHECK(first && !first->id && first->state == XP_FILE_READY && first->nblocks == d.image[0]->nblocks);
    u32 uid = first->uid, gone = find(&d, who.tgid, 5, 0x3000)->uid;
    g.regions[1].image = d.image[1]; /* the first one stays as it is */
    code_tables_put(d.tables, &who, &g);
    CHECK_EQ(published(&d), 2);
    CHECK_EQ(find(&d, who.tgid, 5, 0x1000)->uid, uid);
    CHECK(find(&d, who.tgid, 5, 0x3000)->uid != gone);
    g.nregions = 1; /* the other one was unmapped */
    code_tables_put(d.tables, &who, &g);
    CHECK_EQ(published(&d), 1);
    CHECK(!find(&d, who.tgid, 5, 0x3000) && !find(&d, who.tgid, 6, 0x1000));
    who.stack++; /* execve */
    code_tables_put(d.tables, &who, &g);
    size_t n;
    CHECK_EQ(fake_regions(d.probe, &n)[0].key.stack, 10);
    CHECK(n == 1 && find(&d, who.tgid, 5, 0x1000)->uid != uid);
    unsigned changes = fake_changes(d.probe);
    code_tables_put(d.tables, &who, &g); /* nothing new */
    CHECK_EQ(fake_changes(d.probe), changes);
    struct code_tables_stats s = code_tables_stats(d.tables);
    CHECK(s.loaded == 4 && s.refused == 0);
}

TEST(code_tables_end_with_their_process)
{
    DESK(true);
    struct generated g = {.nregions = 1, .regions = {{0x1000, 0x2000, d.image[0]}}};
    pid_t child = fork();
    if (!child)
        _exit(0);
    struct code_owner mine = owner((u32)getpid(), 9), its = owner((u32)child, 9);
    waitpid(child, NULL, 0);
    code_tables_put(d.tables, &mine, &g);
    code_tables_put(d.tables, &its, &g);
    CHECK_EQ(code_tables_stats(d.tables).processes, 2);
    code_tables_age(d.tables);
    struct code_tables_stats s = code_tables_stats(d.tables);
    CHECK(s.processes == 1 && s.regions == 1 && published(&d) == 1);
    CHECK(find(&d, mine.tgid, 5, 0x1000));
}

/* One cgroup with any number of processes leaves room for others. */
TEST(code_tables_have_shares)
{
    DESK(true);
    struct generated g = {.nregions = 200};
    for (size_t i = 0; i < g.nregions; i++)
        g.regions[i] = (struct generated_region){(1 + i) << 16, (2 + i) << 16, d.image[1]};
    for (u32 tgid = 1; tgid <= 25; tgid++) {
        struct code_owner who = owner(tgid, 9);
        code_tables_put(d.tables, &who, &g);
    }
    struct code_tables_stats s = code_tables_stats(d.tables);
    CHECK(s.regions > 1000 && s.regions < XP_MAX_REGIONS && s.refused == 5000 - s.regions);
    struct code_owner other = {.tgid = 100, .start = 5, .cgroup = 8};
    code_tables_put(d.tables, &other, &g);
    CHECK_EQ(code_tables_stats(d.tables).regions, s.regions + 200);
}

TEST(code_tables_without_room_are_counted)
{
    DESK(false);
    struct code_owner who = owner((u32)getpid(), 9);
    struct generated g = {.nregions = 1, .regions = {{0x1000, 0x2000, d.image[0]}}};
    fake_refuse_tables(d.probe, -ENOSPC);
    code_tables_put(d.tables, &who, &g);
    CHECK(published(&d) == 0 && code_tables_stats(d.tables).refused == 1);
    fake_refuse_tables(d.probe, 0);
    code_tables_put(d.tables, &who, &g);
    CHECK(published(&d) == 1 && code_tables_stats(d.tables).regions == 1);
}

/* Where others find no room, those who hold more than their share lose theirs, and may read them again. */
TEST(code_tables_make_room)
{
    DESK(true);
    struct code_owner who = owner((u32)getpid(), 9), other = {.tgid = 100, .start = 5, .cgroup = 8};
    struct generated g = {.nregions = 1, .regions = {{0x1000, 0x2000, d.image[0]}}};
    code_tables_put(d.tables, &who, &g);
    code_tables_put(d.tables, &other, &g);
    code_tables_make_room(d.tables);
    CHECK_EQ(published(&d), 2);
    fake_shards(d.probe)->shares.limit = 4 * shares_held(&fake_shards(d.probe)->shares, 7) / 2; /* it is over it */
    fake_shards(d.probe)->shares.used = fake_shards(d.probe)->shares.limit;
    code_tables_make_room(d.tables);
    CHECK(published(&d) < 2 && !find(&d, who.tgid, 5, 0x1000));
}

/* What was taken from a cgroup's share is given back to it, wherever its process has gone since. */
TEST(code_tables_of_a_process_that_moves_to_another_cgroup)
{
    DESK(true);
    struct code_owner who = owner((u32)getpid(), 9);
    struct generated g = {.nregions = 2};
    g.regions[0] = (struct generated_region){0x1000, 0x2000, d.image[0]};
    g.regions[1] = (struct generated_region){0x3000, 0x4000, d.image[0]};
    size_t room = 0, again = 0;
    for (; room < 400; room++) { /* each time two places leak, unless they are given back */
        who.cgroup = 7 + room % 2;
        g.nregions = 2;
        code_tables_put(d.tables, &who, &g);
        who.cgroup = 7 + (room + 1) % 2;
        code_tables_put(d.tables, &who, &g);
        again += published(&d) == 2;
        g.nregions = 0;
        code_tables_put(d.tables, &who, &g);
    }
    CHECK_EQ(again, 400);
    CHECK_EQ(published(&d), 0);
    who.cgroup = 9;
    g.nregions = 2;
    for (u64 i = 0; i < 800; i++) { /* a single cgroup may have 1,638 */
        who.start = 100 + i;
        code_tables_put(d.tables, &who, &g);
    }
    CHECK_EQ(published(&d), 1600);
}
