#include "base/clock.h"
#include "opener/hung.h"
#include "pipeline/collector_test.h"

void collector_desk_free(struct collector_desk *d)
{
    collector_free(&d->c);
    openings_free(&d->openings);
    hung_free(&d->hung);
    jobs_free(&d->jobs);
    probe_free(&d->probe);
}
int collector_desk_new(struct collector_desk *d)
{
    char why[256];
    struct probe_config probe = {
        .table_bytes = 1 << 20, .events = {{.hz = 100, .time = true}, {.how = PROBE_OFFCPU}}, .nevents = 2};
    int rc = probe_new(&d->probe, &probe, why, sizeof(why));
    rc = rc ? rc : jobs_new(&d->jobs);
    rc = rc ? rc : hung_new(&d->hung);
    rc = rc ? rc : openings_new(&d->openings, d->probe, &d->jobs, d->hung);
    struct collector_config c = {.probe = d->probe,
                                 .jobs = &d->jobs,
                                 .openings = d->openings,
                                 .hz = 100,
                                 .nevents = 2,
                                 .aggregate_bytes = 1 << 20};
    return rc ? rc : collector_new(&d->c, &c);
}

void collector_desk_poll(struct collector_desk *d)
{
    collector_poll(d->c, 0);
    openings_settle(d->openings, now_ns() + 10 * NS_PER_SEC);
}
struct collector_sample collector_sample_at(u64 time, u8 cause)
{
    return (struct collector_sample){.s = {.type = XP_RECORD_SAMPLE,
                                           .cpu = 1,
                                           .time = time,
                                           .count = 1,
                                           .weight = 1,
                                           .start = 1,
                                           .tgid = 5,
                                           .tid = 5,
                                           .comm = "x",
                                           .nuser = 1,
                                           .cause = cause},
                                     .word = XP_FILE_WORD(XP_WORD_CFI, 7, 0x100)};
}

void collector_desk_push(struct collector_desk *d, struct collector_sample s)
{
    fake_push(d->probe, &s, sizeof(s));
}
