/* What is said of pages that were read in vain. */
#include "base/cleanup.h"
#include "profile/ahead.h"
#include "profile/fixture_test.h"
#include <string.h>

#define READ  W_KERNEL(0x3010), W_KERNEL(0x2010)
#define FAULT W_KERNEL(0x100010), W_KERNEL(0x1010)

/* Two functions of the kernel are called otherwise than in the fixture. */
static void rename_kernel(struct profile *p, const char *from, const char *to)
{
    for (size_t i = 0; i < p->functions.n; i++)
        if (!strcmp(profile_text(p, p->functions.v[i].name), from))
            p->functions.v[i].name = profile_string(p, to);
}

static const char *advice_of(struct profile *p, struct buf *out)
{
    static const struct fixture_sample samples[] = {
        {"demo", 7, 0, XP_CAUSE_END, 1, 2, 3, {READ, W_LEAF(2, 0x3010), W(2, 0x2010), W(2, 0x1010)}},
        {"demo", 7, 0, XP_CAUSE_END, 1, 2, 2, {FAULT, W_LEAF(2, 0x4010), W(2, 0x1010)}},
        {"demo", 7, 0, XP_CAUSE_END, 1, 1, 1, {W_KERNEL(0x1010), W_LEAF(2, 0x1010)}},
        {"else", 8, 0, XP_CAUSE_END, 1, 2, 3, {READ, W_LEAF(2, 0x3020), W(2, 0x2010), W(2, 0x1010)}},
    };
    static const u64 values[][3] = {{100, 1000, 12}, {0, 2560, 0}, {1000, 280, 0}, {0, 512, 1000}};
    if (fixture_profile(samples, sizeof(samples) / sizeof(*samples), p))
        return "";
    p->events[0] = event_kind_find("readahead");
    for (size_t i = 0; i < p->stacks.n; i++)
        for (size_t k = 0; k < sizeof(samples) / sizeof(*samples); k++)
            if (p->stacks.v[i].n == samples[k].nkernel + samples[k].nuser &&
                !strcmp(profile_text(p, p->processes.v[p->stacks.v[i].process].name), samples[k].comm))
                memcpy(p->stacks.v[i].value, values[k], sizeof(values[k]));
    rename_kernel(p, "ext4_file_read_iter", "filemap_fault");
    ahead_advice(p, out);
    return out->data ? out->data : "";
}

TEST(pages_in_vain_have_a_line_for_each_path_that_says_what_saves_them)
{
    struct profile p;
    AUTO_BUF struct buf out = {0};
    CHECK_STR(advice_of(&p, &out),
              "readahead: main;pthread_cond_wait: 10.0 of 10.0 MB were read in vain: madvise(MADV_RANDOM) would save "
              "them\n"
              "readahead: main;outer;leaf: 5.9 of 10.2 MB were read in vain: posix_fadvise(POSIX_FADV_RANDOM) would "
              "save them\n"
              "readahead: where programs cannot be changed, lower /sys/block/DISK/queue/read_ahead_kb: that saves "
              "15.9 MB at most\n");
    profile_free(&p);
}

TEST(pages_that_a_program_asked_for_are_its_own_idea)
{
    struct profile p;
    AUTO_BUF struct buf first = {0}, out = {0};
    advice_of(&p, &first);
    rename_kernel(&p, "filemap_fault", "generic_fadvise");
    rename_kernel(&p, "vfs_read", "force_page_cache_ra");
    ahead_advice(&p, &out);
    CHECK(strstr(out.data, "main;pthread_cond_wait: 10.0 of 10.0 MB were read in vain: the program asks for them"));
    CHECK(!strstr(out.data, "read_ahead_kb"));
    profile_free(&p);
}

TEST(nothing_is_said_where_little_is_read_in_vain)
{
    struct profile p;
    AUTO_BUF struct buf first = {0}, out = {0};
    advice_of(&p, &first);
    for (size_t i = 0; i < p.stacks.n; i++)
        p.stacks.v[i].value[1] = 100;
    ahead_advice(&p, &out);
    CHECK_EQ(out.len, 0);
    p.events[0] = event_kind_find("cpu");
    for (size_t i = 0; i < p.stacks.n; i++)
        p.stacks.v[i].value[1] = 1000000;
    ahead_advice(&p, &out);
    CHECK_EQ(out.len, 0);
    profile_free(&p);
}
