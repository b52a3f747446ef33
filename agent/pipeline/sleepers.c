#include "pipeline/sleepers.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/hash.h"
#include "opener/hung.h"
#include "opener/opener.h"
#include "proc/proc.h"
#include <errno.h>
#include <string.h>

int sleepers_job(struct deferred_job *out, const struct xp_sleeper *z, const struct xp_mapping *maps, size_t nmaps)
{
    AUTO_FREE struct xp_sample *s = calloc(1, sizeof(*s));
    struct xp_dump *d = s ? malloc(sizeof(*d)) : NULL;
    if (!d)
        return -ENOMEM;
    *s = (struct xp_sample){.type = XP_RECORD_STACK,
                            .weight = z->key,
                            .start = z->start,
                            .cgroup = z->cgroup,
                            .tgid = z->tgid,
                            .tid = z->tid,
                            .nstid = z->nstid,
                            .cause = XP_CAUSE_NOT_TAKEN,
                            .flags = XP_SAMPLE_KERNEL_MODE};
    memcpy(s->comm, z->comm, sizeof(s->comm));
    memcpy(s->thread, z->thread, sizeof(s->thread));
    d->type = XP_RECORD_DUMP;
    d->tgid = z->tgid;
    d->len = d->absent = 0;
    d->nmaps = (u32)(nmaps < XP_DUMP_MAPS ? nmaps : XP_DUMP_MAPS);
    d->regs = z->regs;
    d->tls = z->tls;
    for (u32 i = 0; i < d->nmaps; i++)
        d->maps[i] = maps[i];
    d->time = 0;
    d->switches = (u32)z->switches;
    *out = (struct deferred_job){.sample = TAKE_PTR(s), .dump = d};
    return 0;
}

int sleepers_read(struct deferred_job *job, struct opener *o, struct hung *h)
{
    const struct xp_sample *s = job->sample;
    struct xp_dump *d = job->dump;
    int n = opener_sample_memory(o, h, s, d->regs.r[7], d->stack, XP_DUMP_BYTES);
    if (n < 0)
        return n;
    d->len = (u32)n;
    return sleepers_sleep(s, d) ? 0 : -EAGAIN;
}

bool sleepers_sleep(const struct xp_sample *s, const struct xp_dump *d)
{
    return s->type == XP_RECORD_STACK && proc_sleeps_since(s->tgid, s->tid, d->switches);
}
