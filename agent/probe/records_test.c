#include "probe/records.h"
#include "base/test.h"

struct seen {
    unsigned samples, stacks, files, dumps, codes, cgroups;
    size_t len;
};

static void on_sample(void *ctx, const struct xp_sample *s, size_t len)
{
    struct seen *seen = ctx;
    seen->samples++;
    seen->len = len;
}

static void on_stack(void *ctx, const struct xp_sample *s, size_t len)
{
    ((struct seen *)ctx)->stacks++;
}

static void on_file(void *ctx, const struct xp_file_event *e)
{
    ((struct seen *)ctx)->files++;
}

static void on_dump(void *ctx, const struct xp_dump *d)
{
    ((struct seen *)ctx)->dumps++;
}

static void on_code(void *ctx, const struct xp_code_event *e)
{
    ((struct seen *)ctx)->codes++;
}

static void on_cgroup(void *ctx, const struct xp_cgroup_event *e)
{
    ((struct seen *)ctx)->cgroups++;
}

TEST(records_go_to_their_handlers_if_they_are_whole)
{
    static union {
        u32 type;
        struct xp_dump dump;
    } record;
    static const struct {
        u32 type;
        size_t size;
    } kinds[] = {{XP_RECORD_SAMPLE, sizeof(struct xp_sample)},   {XP_RECORD_STACK, sizeof(struct xp_sample)},
                 {XP_RECORD_FILE, sizeof(struct xp_file_event)}, {XP_RECORD_DUMP, sizeof(struct xp_dump)},
                 {XP_RECORD_CODE, sizeof(struct xp_code_event)}, {XP_RECORD_CGROUP, sizeof(struct xp_cgroup_event)}};
    struct seen seen = {0};
    struct probe_handlers h = {.ctx = &seen,
                               .sample = on_sample,
                               .stack = on_stack,
                               .file = on_file,
                               .dump = on_dump,
                               .code = on_code,
                               .cgroup = on_cgroup};
    for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
        record.type = kinds[i].type;
        CHECK(!record_dispatch(&h, &record, kinds[i].size - 1));
        CHECK(record_dispatch(&h, &record, kinds[i].size));
    }
    CHECK_EQ(seen.samples, 1);
    CHECK_EQ(seen.stacks, 1);
    CHECK_EQ(seen.files, 1);
    CHECK_EQ(seen.dumps, 1);
    CHECK_EQ(seen.codes, 1);
    CHECK_EQ(seen.cgroups, 1);
    CHECK_EQ(seen.len, sizeof(struct xp_sample));
    record.type = 0;
    CHECK(!record_dispatch(&h, &record, sizeof(record)));
    record.type = XP_RECORD_STACK + 1;
    CHECK(!record_dispatch(&h, &record, sizeof(record)));
    CHECK(!record_dispatch(&h, &record, 3));
}
