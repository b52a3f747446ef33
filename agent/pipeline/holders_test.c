#include "pipeline/holders.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/test.h"
#include "proc/proc.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

struct other { /* a thread with a name that lives until it is told to end */
    pthread_t thread;
    pthread_barrier_t at;
    u32 tid;
};

static void *be_other(void *arg)
{
    struct other *o = arg;
    pthread_setname_np(pthread_self(), "holds it");
    o->tid = (u32)syscall(SYS_gettid);
    pthread_barrier_wait(&o->at);
    pthread_barrier_wait(&o->at);
    return NULL;
}

static void begin(struct other *o)
{
    pthread_barrier_init(&o->at, NULL, 2);
    pthread_create(&o->thread, NULL, be_other, o);
    pthread_barrier_wait(&o->at);
}

static void end(struct other *o)
{
    pthread_barrier_wait(&o->at);
    pthread_join(o->thread, NULL);
    pthread_barrier_destroy(&o->at);
}

static u64 own_start(void)
{
    return proc_start_ticks((u32)getpid()) * (NS_PER_SEC / (u64)sysconf(_SC_CLK_TCK));
}

TEST(holders_have_the_name_of_their_thread)
{
    CLEANUP(holders_free) struct holders h = {0};
    struct other o;
    u32 me = (u32)getpid();
    u64 start = own_start();
    begin(&o);
    const char *name = holders_name(&h, 7, me, start, o.tid);
    CHECK(name && !strcmp(name, "holds it"));
    CHECK(!holders_name(&h, 7, me, start + NS_PER_SEC, o.tid)); /* another process had this number */
    CHECK(!holders_name(&h, 7, me, start, 1));                  /* a thread, but not one of this process */
    CHECK(!holders_name(&h, 7, me, start, 0x3fffff));
    CHECK(h.looks.used >= 2 && map_get(&h.now.places, 0) == NULL);
    u64 looked = h.looks.used;
    CHECK(!holders_name(&h, 7, me, start, 0x3ffffe));
    CHECK_EQ(h.looks.used, looked + 1); /* all threads are looked at once in an interval */
    end(&o);
}

TEST(holders_that_have_ended_keep_their_name_for_an_interval)
{
    CLEANUP(holders_free) struct holders h = {0};
    struct other o;
    u32 me = (u32)getpid();
    u64 start = own_start();
    begin(&o);
    CHECK(holders_name(&h, 7, me, start, o.tid));
    end(&o);
    for (int i = 0; i < 100 && !proc_thread(me, o.tid, &(u32){0}, (char[PROC_COMM]){0}); i++)
        usleep(1000);
    holders_tick(&h);
    const char *name = holders_name(&h, 7, me, start, o.tid);
    CHECK(name && !strcmp(name, "holds it"));
    holders_tick(&h);
    holders_tick(&h);
    CHECK(!holders_name(&h, 7, me, start, o.tid));
}

TEST(holders_are_looked_for_in_a_share_of_each_cgroup)
{
    CLEANUP(holders_free) struct holders h = {.looks.limit = HOLDERS_THREADS};
    struct other o;
    u32 me = (u32)getpid();
    u64 start = own_start();
    begin(&o);
    while (shares_take(&h.looks, 7, 1))
        ;
    CHECK(!holders_name(&h, 7, me, start, o.tid));
    CHECK(!holders_name(&h, 7, me, start, o.tid));
    CHECK_EQ(h.refused, 1);
    holders_tick(&h);
    CHECK(holders_name(&h, 7, me, start, o.tid));
    CHECK_EQ(h.refused, 1);
    end(&o);
}
