/* Stacks that wait for their tables: a process whose file has three functions, one that has a rule, the outermost one,
 * and one without rules.
 */
#include "files/deferred.h"
#include "base/test.h"
#include "files/shelf_test.h"
#include "parser/synth_table.h"
#include "profile/aggregate.h"
#include <stdlib.h>
#include <unistd.h>

#define FILE_ID   10u
#define TEXT      0x400000ull
#define CALLER    (TEXT + 0x1010) /* CFA = rsp + 8 */
#define OUTERMOST (TEXT + 0x1110)
#define NOWHERE   (TEXT + 0x1210) /* no rule */
#define STACK     0x7000ull

struct desk {
    struct shelf shelf;
    struct deferred *deferred;
    struct aggregate *into;
};

static void desk_free(struct desk *d)
{
    deferred_free(&d->deferred);
    aggregate_free(&d->into);
    shelf_free(&d->shelf);
    if (d->deferred)
        test_fail(__FILE__, __LINE__, "it is still there");
}
#define AUTO_DESK CLEANUP(desk_free) struct desk

/* The table of the file's three functions takes the place of the one that it was built with. */
static int desk_new(struct desk *d)
{
    struct {
        struct xp_table head;
        u32 index[2], rows[4];
        struct xp_rule rules[3];
    } image = {
        .head = {.nblocks = 1, .nrows = 4, .nrules = 3, .lo = 0x1000},
        .index = {1, 4},
        .rows = {0, 0x000 | 1 << 16, 0x100 | 2 << 16, 0x200},
        .rules = {{.kind = XP_CFA_NONE}, {.kind = XP_CFA_RSP, .cfa_off = 8}, {.kind = XP_CFA_END}},
    };
    struct probe_table place;
    *d = (struct desk){.shelf.dir = ""};
    int rc = shelf_new(&d->shelf, false);
    if (!rc)
        rc = deferred_new(&d->deferred, d->shelf.probe, d->shelf.files);
    if (!rc)
        rc = aggregate_new(&d->into, 1, 1 << 20);
    if (!rc && !shelf_build(&d->shelf, FILE_ID, "elf/cfi.so"))
        rc = -1;
    if (!rc)
        rc = probe_table_load(d->shelf.probe, SHARES_ALL, &image.head, &place);
    if (!rc) {
        d->shelf.files->all.v[0].value = shards_file(FILE_ID, XP_FILE_READY, &place);
        d->shelf.files->all.v[0].value.flags |= XP_FILE_OPEN;
    }
    return rc;
}

static u64 word_at(u64 address)
{
    return XP_FILE_WORD(XP_WORD_CFI, FILE_ID, address - TEXT);
}

/* A sample of one user frame, at `ip`, that ended with `cause`, and one kernel frame; its stack holds one address. */
static struct deferred_job job_of(u8 cause, u64 ip, u64 returns_to)
{
    struct deferred_job j = {calloc(1, sizeof(*j.sample) + 16), calloc(1, sizeof(*j.dump))};
    *j.sample = (struct xp_sample){.nkernel = 1, .nuser = 1, .cause = cause, .count = 1, .weight = 1, .tgid = 7};
    j.sample->words[0] = (u64)XP_WORD_KERNEL << 60 | 0x123;
    j.sample->words[1] = word_at(ip);
    j.dump->regs.r[16] = ip;
    j.dump->regs.r[6] = 1; /* no frame pointer, nor the 0 of a process's start */
    j.dump->regs.r[7] = STACK;
    j.dump->len = XP_WINDOW; /* is read at once */
    j.dump->nmaps = 1;
    j.dump->maps[0] = (struct xp_mapping){.start = TEXT, .end = TEXT + 0x10000, .file = FILE_ID};
    memcpy(j.dump->stack, &returns_to, 8);
    return j;
}

static size_t added(const struct desk *d)
{
    size_t n;
    u64 sum = 0;
    const struct agg_stack *s = aggregate_stacks(d->into, &n);
    for (size_t i = 0; i < n; i++)
        sum += s[i].values[0].count;
    return sum;
}

/* The stack that was added first. */
static const struct agg_stack *first(const struct desk *d)
{
    size_t n;
    const struct agg_stack *s = aggregate_stacks(d->into, &n);
    return n ? s : NULL;
}

TEST(deferred_stacks_come_out_complete)
{
    AUTO_DESK d;
    CHECK_EQ(desk_new(&d), 0);
    deferred_add(d.deferred, job_of(XP_CAUSE_PENDING, CALLER, OUTERMOST), d.into);
    deferred_run(d.deferred, 3600 * 1000, d.into); /* it is too young */
    CHECK_EQ(deferred_waiting(d.deferred), 1);
    CHECK_EQ(added(&d), 0);
    deferred_run(d.deferred, 0, d.into);
    CHECK_EQ(deferred_waiting(d.deferred), 0);
    CHECK_EQ(deferred_rescued(d.deferred), 1);
    CHECK_EQ(added(&d), 1);
    const struct agg_stack *s = first(&d);
    CHECK(s->nkernel == 1 && s->nuser == 2 && s->cause == XP_CAUSE_END);
    CHECK_EQ(s->words[0], (u64)XP_WORD_KERNEL << 60 | 0x123);
    CHECK_EQ(XP_WORD_OFFSET(s->words[1]), CALLER - TEXT);
    CHECK_EQ(XP_WORD_OFFSET(s->words[2]), OUTERMOST - TEXT);
    CHECK_EQ(XP_WORD_FILE(s->words[2]), FILE_ID);
}

/* What has returned is no part of the copied stack, and stays in front of it. */
TEST(deferred_stacks_of_functions_that_have_returned)
{
    AUTO_DESK d;
    CHECK_EQ(desk_new(&d), 0);
    struct deferred_job j = job_of(XP_CAUSE_PENDING, CALLER, OUTERMOST);
    u64 function = j.sample->words[1] = XP_FILE_WORD(XP_WORD_CFI, FILE_ID, 0x77) | XP_WORD_EXACT;
    j.sample->flags |= XP_SAMPLE_RETURNED;
    deferred_add(d.deferred, j, d.into);
    deferred_run(d.deferred, 0, d.into);
    const struct agg_stack *s = first(&d);
    CHECK(s->nkernel == 1 && s->nuser == 3 && s->cause == XP_CAUSE_END);
    CHECK_EQ(s->words[1], function);
    CHECK_EQ(XP_WORD_OFFSET(s->words[2]), CALLER - TEXT);
    CHECK(!(s->words[2] & XP_WORD_EXACT));
    CHECK_EQ(XP_WORD_OFFSET(s->words[3]), OUTERMOST - TEXT);
}

/* A file is known as soon as it is open; until its table is built, nothing can be said of its code. */
TEST(deferred_stacks_wait_for_tables_of_known_files)
{
    AUTO_DESK d;
    CHECK_EQ(desk_new(&d), 0);
    struct file *f = &d.shelf.files->all.v[0];
    struct xp_file built = f->value;
    f->value = (struct xp_file){0};
    deferred_add(d.deferred, job_of(XP_CAUSE_PENDING, CALLER, OUTERMOST), d.into);
    deferred_run(d.deferred, 0, d.into);
    CHECK_EQ(deferred_waiting(d.deferred), 1);
    f->value = built;
    deferred_run(d.deferred, 0, d.into);
    CHECK_EQ(deferred_waiting(d.deferred), 0);
    CHECK_EQ(first(&d)->nuser, 2);
    deferred_add(d.deferred, job_of(XP_CAUSE_PENDING, CALLER, OUTERMOST), d.into);
    f->value = (struct xp_file){.id = FILE_ID, .state = XP_FILE_FAILED}; /* it will have none */
    deferred_run(d.deferred, 0, d.into);
    CHECK_EQ(deferred_waiting(d.deferred), 0);
}

static bool keep_stack(void *ctx, struct xp_sample *stack)
{
    struct xp_sample **kept = ctx;
    free(*kept);
    *kept = stack;
    return true;
}

/* Stacks of waits have no value yet: they go to whoever knows what refers to them. */
TEST(deferred_stacks_without_value_go_back)
{
    AUTO_DESK d;
    AUTO_FREE struct xp_sample *kept = NULL;
    CHECK_EQ(desk_new(&d), 0);
    deferred_use_stacks(d.deferred, keep_stack, &kept);
    struct deferred_job j = job_of(XP_CAUSE_PENDING, CALLER, OUTERMOST);
    j.sample->type = XP_RECORD_STACK;
    j.sample->weight = 77;
    deferred_add(d.deferred, j, d.into);
    deferred_run(d.deferred, 0, d.into);
    CHECK_EQ(added(&d), 0);
    CHECK(kept && kept->weight == 77 && kept->nuser == 2 && kept->cause == XP_CAUSE_END);
}

/* One that is cut is taken when it is longer, and stays as it came when it is not. */
TEST(deferred_stacks_become_longer_or_stay)
{
    AUTO_DESK d;
    CHECK_EQ(desk_new(&d), 0);
    d.shelf.files->all.v[0].value.flags &= ~XP_FILE_OPEN;
    deferred_add(d.deferred, job_of(XP_CAUSE_PENDING, CALLER, NOWHERE), d.into);
    deferred_run(d.deferred, 0, d.into);
    CHECK_EQ(added(&d), 1);
    CHECK_EQ(first(&d)->cause, XP_CAUSE_NO_RULE);
    CHECK_EQ(first(&d)->nuser, 2);
    aggregate_free(&d.into);
    CHECK_EQ(aggregate_new(&d.into, 1, 1 << 20), 0);
    struct deferred_job j = job_of(XP_CAUSE_PENDING, CALLER, OUTERMOST);
    j.dump->len--; /* it cannot be read */
    deferred_add(d.deferred, j, d.into);
    deferred_run(d.deferred, 0, d.into);
    CHECK_EQ(first(&d)->cause, XP_CAUSE_PENDING);
    CHECK_EQ(first(&d)->nuser, 1);
    j = job_of(XP_CAUSE_PENDING, CALLER, OUTERMOST);
    j.dump->nmaps = 0;
    deferred_add(d.deferred, j, d.into);
    deferred_run(d.deferred, 0, d.into);
    CHECK_EQ(first(&d)->values[0].count, 2);
    CHECK_EQ(deferred_rescued(d.deferred), 0);
}

/* Where the copy of the stack ends is another end than where the stack cannot be read. */
TEST(deferred_stacks_that_are_deeper_than_their_copy)
{
    static const struct {
        u32 len;
        u8 cause;
    } cases[] = {{XP_DUMP_BYTES - 4096, XP_CAUSE_DUMP_END}, {XP_DUMP_BYTES - 4097, XP_CAUSE_STACK_READ}};
    for (size_t i = 0; i < 2; i++) {
        AUTO_DESK d;
        CHECK_EQ(desk_new(&d), 0);
        struct deferred_job j = job_of(XP_CAUSE_PENDING, CALLER, CALLER);
        for (u32 at = 0; at + 8 <= cases[i].len; at += 8)
            memcpy(j.dump->stack + at, &(u64){CALLER}, 8);
        j.dump->len = cases[i].len;
        deferred_add(d.deferred, j, d.into);
        deferred_run(d.deferred, 0, d.into);
        CHECK_EQ(first(&d)->cause, cases[i].cause);
        CHECK(first(&d)->nuser > 100);
        CHECK_EQ(deferred_rescued(d.deferred), 0);
    }
}

/* Memory of no file has no table, a file that nobody knows has none yet. */
TEST(deferred_stacks_in_other_mappings)
{
    static const struct {
        u32 file;
        u8 cause;
    } cases[] = {{0, XP_CAUSE_FP_ANON}, {99, XP_CAUSE_PENDING}};
    for (size_t i = 0; i < 2; i++) {
        AUTO_DESK d;
        CHECK_EQ(desk_new(&d), 0);
        struct deferred_job j = job_of(XP_CAUSE_COMPAT, CALLER, 0);
        j.dump->maps[0].file = cases[i].file;
        j.sample->nuser = 0;
        deferred_add(d.deferred, j, d.into);
        deferred_run(d.deferred, 0, d.into);
        CHECK_EQ(deferred_waiting(d.deferred), cases[i].file != 0); /* it may still come */
        deferred_end(d.deferred);
        deferred_run(d.deferred, 0, d.into);
        CHECK(first(&d));
        CHECK_EQ(first(&d)->cause, cases[i].cause);
        CHECK_EQ(first(&d)->nuser, 1);
    }
}

TEST(deferred_stacks_wait_for_rows_while_the_file_is_open)
{
    AUTO_DESK d;
    CHECK_EQ(desk_new(&d), 0);
    struct file *f = &d.shelf.files->all.v[0];
    deferred_add(d.deferred, job_of(XP_CAUSE_PENDING, CALLER, NOWHERE), d.into);
    deferred_run(d.deferred, 0, d.into); /* only now it is seen where it stops */
    CHECK_EQ(deferred_waiting(d.deferred), 1);
    CHECK(f->synth_asked && d.shelf.files->synth_wanted.n == 1);
    deferred_add(d.deferred, job_of(XP_CAUSE_NO_RULE, NOWHERE, 0), d.into);
    deferred_run(d.deferred, 0, d.into);
    CHECK_EQ(deferred_waiting(d.deferred), 2);
    f->value.flags &= ~XP_FILE_OPEN;
    deferred_run(d.deferred, 0, d.into);
    CHECK_EQ(deferred_waiting(d.deferred), 0);
    CHECK_EQ(added(&d), 2);
    CHECK_EQ(first(&d)->cause, XP_CAUSE_NO_RULE);
    CHECK_EQ(first(&d)->nuser, 2);
}

TEST(deferred_stacks_are_bounded)
{
    AUTO_DESK d;
    CHECK_EQ(desk_new(&d), 0);
    for (int i = 0; i < 512; i++)
        deferred_add(d.deferred, job_of(XP_CAUSE_PENDING, CALLER, OUTERMOST), d.into);
    CHECK_EQ(deferred_waiting(d.deferred), 512);
    CHECK_EQ(added(&d), 0);
    deferred_add(d.deferred, job_of(XP_CAUSE_PENDING, CALLER, OUTERMOST), d.into);
    CHECK_EQ(deferred_waiting(d.deferred), 512);
    CHECK_EQ(first(&d)->cause, XP_CAUSE_PENDING); /* as it came */
    deferred_run(d.deferred, 0, d.into);
    CHECK_EQ(deferred_rescued(d.deferred), 512);
    CHECK_EQ(added(&d), 513);
}

/* Who has its share loses what comes then; others find room. */
TEST(deferred_stacks_have_shares)
{
    AUTO_DESK d;
    CHECK_EQ(desk_new(&d), 0);
    files_share(d.shelf.files);
    for (unsigned i = 0; i < 600; i++) {
        struct deferred_job j = job_of(XP_CAUSE_PENDING, CALLER, OUTERMOST);
        j.sample->cgroup = 7;
        deferred_add(d.deferred, j, d.into);
    }
    size_t hog = deferred_waiting(d.deferred);
    CHECK(hog >= 512 * 3 / 4 && hog < 512);
    CHECK_EQ(added(&d), 600 - hog);
    struct deferred_job j = job_of(XP_CAUSE_PENDING, CALLER, OUTERMOST);
    j.sample->cgroup = 8;
    deferred_add(d.deferred, j, d.into);
    CHECK_EQ(deferred_waiting(d.deferred), hog + 1);
    deferred_run(d.deferred, 0, d.into);
    CHECK_EQ(deferred_rescued(d.deferred), hog + 1);
    for (unsigned i = 0; i < 600; i++) { /* the share is given back */
        j = job_of(XP_CAUSE_PENDING, CALLER, OUTERMOST);
        j.sample->cgroup = 9;
        deferred_add(d.deferred, j, d.into);
    }
    CHECK_EQ(deferred_waiting(d.deferred), hog);
}

/* Half of the places are kept for those that wait for a table. */
TEST(deferred_stacks_that_wait_for_rows_are_bounded)
{
    AUTO_DESK d;
    CHECK_EQ(desk_new(&d), 0);
    for (int round = 0; round < 2; round++) { /* places that came free are used again */
        struct file *f = &d.shelf.files->all.v[0];
        f->value.flags |= XP_FILE_OPEN;
        for (int i = 0; i < 300; i++)
            deferred_add(d.deferred, job_of(XP_CAUSE_NO_RULE, NOWHERE, 0), d.into);
        deferred_run(d.deferred, 0, d.into);
        CHECK_EQ(deferred_waiting(d.deferred), 256);
        CHECK_EQ(added(&d), 300 * round + 44);
        f->value.flags &= ~XP_FILE_OPEN;
        deferred_run(d.deferred, 0, d.into);
        CHECK_EQ(deferred_waiting(d.deferred), 0);
    }
    deferred_add(d.deferred, job_of(XP_CAUSE_NO_RULE, NOWHERE, 0), d.into);
    CHECK_EQ(deferred_waiting(d.deferred), 1); /* and is freed with the rest */
}

TEST(deferred_gap_is_the_file_where_a_stack_stopped)
{
    static const struct {
        u8 cause;
        u16 nuser;
        u64 last;
        u32 gap;
    } cases[] = {
        {XP_CAUSE_NO_RULE, 2, XP_FILE_WORD(XP_WORD_CFI, 5, 1), 5},
        {XP_CAUSE_FP_BROKEN, 2, XP_FILE_WORD(XP_WORD_FP, 5, 1), 5},
        {XP_CAUSE_NO_RULE, 1, XP_FILE_WORD(XP_WORD_CFI, 5, 1), 4},
        {XP_CAUSE_NO_RULE, 0, XP_FILE_WORD(XP_WORD_CFI, 5, 1), 0},
        {XP_CAUSE_END, 2, XP_FILE_WORD(XP_WORD_CFI, 5, 1), 0},
        {XP_CAUSE_NO_RULE, 2, (u64)XP_WORD_ANON << 60 | 5ull << XP_OFFSET_BITS, 0},
    };
    AUTO_FREE struct xp_sample *s = calloc(1, sizeof(*s) + 3 * 8);
    CHECK(s);
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        *s = (struct xp_sample){.cause = cases[i].cause, .nkernel = 1, .nuser = cases[i].nuser};
        s->words[0] = XP_FILE_WORD(XP_WORD_CFI, 3, 1);
        s->words[1] = XP_FILE_WORD(XP_WORD_CFI, 4, 1);
        s->words[2] = cases[i].last;
        u64 offset;
        CHECK_EQ(deferred_gap_of(s, &offset), cases[i].gap);
    }
}

/* Where frame pointers lead, code will be needed, too; it is asked for at once. Frames come from rows only. */
TEST(deferred_stacks_ask_for_all_code_that_they_need)
{
    AUTO_DESK d;
    CHECK_EQ(desk_new(&d), 0);
    struct deferred_job j = job_of(XP_CAUSE_NO_RULE, NOWHERE, 0);
    static const u64 returns[] = {5, 2, 9};
    u64 *stack = (u64 *)j.dump->stack;
    j.dump->maps[0].end = TEXT + 10 * SYNTH_STRETCH;
    j.dump->regs.r[6] = STACK + 64;
    for (u64 i = 0; i < 3; i++) {
        stack[8 + 4 * i] = i < 2 ? STACK + 64 + 32 * (i + 1) : STACK; /* the last one leads back */
        stack[9 + 4 * i] = TEXT + returns[i] * SYNTH_STRETCH + 7;
    }
    d.shelf.files->all.v[0].synth_asked = false;
    deferred_add(d.deferred, j, d.into);
    deferred_run(d.deferred, 0, d.into);
    CHECK_EQ(deferred_waiting(d.deferred), 1);
    const struct stretches *s = &d.shelf.files->all.v[0].stretches;
    CHECK_EQ(s->wanted.n, 4);
    CHECK(s->wanted.v[0] == 0 && s->wanted.v[1] == 2 && s->wanted.v[2] == 5 && s->wanted.v[3] == 9);
}

/* A file may stay open for good; its stacks are looked at again as soon as it has another table. */
TEST(deferred_stacks_look_again_at_each_table)
{
    AUTO_DESK d;
    CHECK_EQ(desk_new(&d), 0);
    struct file *f = &d.shelf.files->all.v[0];
    f->value.nblocks = 0; /* no rows yet */
    deferred_add(d.deferred, job_of(XP_CAUSE_NO_RULE, CALLER, OUTERMOST), d.into);
    deferred_run(d.deferred, 0, d.into);
    deferred_run(d.deferred, 0, d.into);
    CHECK_EQ(deferred_waiting(d.deferred), 1);
    f->value.nblocks = 1;
    deferred_run(d.deferred, 0, d.into);
    CHECK_EQ(deferred_waiting(d.deferred), 1); /* the same table, as far as one can tell */
    f->value.uid++;
    deferred_run(d.deferred, 0, d.into);
    CHECK_EQ(deferred_waiting(d.deferred), 0);
    CHECK_EQ(deferred_rescued(d.deferred), 1);
}

/* A file that is read by stretches has pauses; its stacks have the patience, but not at the end. */
TEST(deferred_stacks_wait_for_more_stretches)
{
    AUTO_DESK d;
    CHECK_EQ(desk_new(&d), 0);
    d.shelf.files->all.v[0].stretches.on = true;
    d.shelf.files->all.v[0].stretches.due_ns = ~0ull;
    deferred_add(d.deferred, job_of(XP_CAUSE_NO_RULE, NOWHERE, 0), d.into);
    deferred_run(d.deferred, 0, d.into);
    CHECK_EQ(deferred_waiting(d.deferred), 1);
    usleep(2600000);
    deferred_run(d.deferred, 0, d.into);
    CHECK_EQ(deferred_waiting(d.deferred), 1);
    deferred_end(d.deferred);
    CHECK_EQ(d.shelf.files->all.v[0].stretches.due_ns, 0); /* the last table is made for them */
    deferred_run(d.deferred, 0, d.into);
    CHECK_EQ(deferred_waiting(d.deferred), 0);
    CHECK_EQ(added(&d), 1);
}
