#include "base/test.h"
#include "files/machine_memory.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SP 0x7f0000010000ull

/* A process whose virtual machine has memory right behind the copied part of a stack, one page of it. */
struct process {
    int reads, error;
};

static bool find(void *ctx, u32 tgid, u64 start, struct xp_machine *out)
{
    *out = (struct xp_machine){.jvm.entry_return = 5};
    return tgid == 7 && start == 8;
}

static int read_process(void *ctx, const struct xp_sample *s, u64 at, void *to, size_t len)
{
    struct process *p = ctx;
    p->reads++;
    if (p->error || at != SP + 4096)
        return p->error ? p->error : -EFAULT;
    memset(to, 0xaa, len);
    return (int)len;
}

struct desk {
    struct process process;
    struct machine_memory *m;
    struct xp_dump *dump;
    struct xp_sample sample;
};

static void desk_open(struct desk *d)
{
    const struct machine_source from = {&d->process, find, NULL, read_process};
    *d = (struct desk){.dump = calloc(1, sizeof(*d->dump)), .sample = {.tgid = 7, .start = 8}};
    CHECK(d->dump && !machine_memory_new(&d->m, &from));
    d->dump->regs.r[7] = SP;
    d->dump->len = 4096;
    memset(d->dump->stack, 0x11, 4096);
}

static void desk_close(struct desk *d)
{
    machine_memory_free(&d->m);
    free(d->dump);
}

TEST(machine_memory_beside_a_stack)
{
    struct desk d;
    u64 word = 0;
    desk_open(&d);
    const struct xp_machine *jvm = machine_memory_begin(d.m, &d.sample, d.dump);
    CHECK(jvm && jvm->jvm.entry_return == 5);
    CHECK(!machine_memory_stack(d.m, &word, 8, SP + 8) && word == 0x1111111111111111ull);
    CHECK(!machine_memory_read(d.m, &word, 8, SP + 4088) && word == 0x1111111111111111ull);
    CHECK_EQ(d.process.reads, 0); /* what was copied is not read as it is now */
    CHECK(!machine_memory_read(d.m, &word, 8, SP + 4096) && word == 0xaaaaaaaaaaaaaaaaull);
    CHECK(!machine_memory_read(d.m, &word, 8, SP + 5000));
    CHECK_EQ(d.process.reads, 1);
    CHECK(machine_memory_stack(d.m, &word, 8, SP + 4096)); /* the thread has run since */
    CHECK(machine_memory_read(d.m, &word, 8, SP + 8192));  /* nothing is there */
    desk_close(&d);
}

/* Pages that were not there take no room in the copy, and are not read as if they were 0. */
TEST(dump_read_leaves_out_pages_that_were_not_there)
{
    static const struct {
        u64 at;
        u32 len, byte; /* byte 0: it cannot be read */
    } reads[] = {
        {0, 8, 1},         {3 * 1024 - 8, 8, 1},  {3 * 1024 - 4, 8, 0}, {3 * 1024, 8, 0},    {11 * 1024 - 8, 8, 0},
        {11 * 1024, 8, 2}, {15 * 1024 - 8, 8, 2}, {15 * 1024, 8, 0},    {1 << 20, 8, 0},     {~7ull, 8, 0},
        {~7ull, 16, 0},    {2048, 2048, 0},       {12 * 1024, 2048, 2}, {14 * 1024, 2048, 0}};
    struct desk d;
    desk_open(&d);
    d.dump->regs.r[7] = SP + 1024;
    d.dump->absent = 1u << 1 | 1u << 2 | 1u << 4;
    d.dump->len = 7 * 1024; /* the rest of a page, and the fourth one */
    memset(d.dump->stack, 1, 3 * 1024);
    memset(d.dump->stack + 3 * 1024, 2, 4 * 1024);
    for (size_t i = 0; i < sizeof(reads) / sizeof(reads[0]); i++) {
        u8 bytes[2048] = {0};
        int rc = dump_read(d.dump, bytes, reads[i].len, SP + 1024 + reads[i].at);
        CHECK_EQ(!rc, reads[i].byte != 0);
        CHECK_EQ(bytes[0], reads[i].byte);
        CHECK_EQ(bytes[reads[i].len - 1], reads[i].byte);
    }
    desk_close(&d);
}

static bool slept(const struct xp_sample *s, const struct xp_dump *d)
{
    return s->tid == 3 && d->time == 4;
}

/* Nobody knows whether a thread has slept, if nobody is asked. */
TEST(machine_memory_of_threads_that_sleep)
{
    struct desk d;
    desk_open(&d);
    machine_memory_begin(d.m, &d.sample, d.dump);
    CHECK(!machine_memory_sleeps(d.m) && !machine_memory_sleeps(NULL));
    machine_memory_free(&d.m);
    const struct machine_source from = {&d.process, find, slept, read_process};
    CHECK_EQ(machine_memory_new(&d.m, &from), 0);
    d.dump->time = 4;
    machine_memory_begin(d.m, &d.sample, d.dump);
    CHECK(!machine_memory_sleeps(d.m));
    u64 word = 0;
    CHECK(machine_memory_stack(d.m, &word, 8, SP + 4096));
    d.sample.tid = 3;
    CHECK(machine_memory_sleeps(d.m));
    CHECK(!machine_memory_stack(d.m, &word, 8, SP + 4096) && word == 0xaaaaaaaaaaaaaaaaull); /* it is as it was */
    CHECK(!machine_memory_stack(d.m, &word, 8, SP + 4088) && word == 0x1111111111111111ull);
    CHECK(machine_memory_stack(d.m, &word, 8, SP + 8192));
    desk_close(&d);
}

TEST(machine_memory_of_a_process_that_does_not_answer)
{
    struct desk d;
    u64 word = 0;
    desk_open(&d);
    d.process.error = -EREMOTEIO;
    CHECK(machine_memory_begin(d.m, &d.sample, d.dump) != NULL);
    CHECK(machine_memory_read(d.m, &word, 8, SP + 4096) && machine_memory_read(d.m, &word, 8, SP + 16384));
    CHECK_EQ(d.process.reads, 1);
    d.sample.tgid = 9;
    CHECK(!machine_memory_begin(d.m, &d.sample, d.dump));
    desk_close(&d);
}
