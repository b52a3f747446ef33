#include "pipeline/governor.h"
#include "base/clock.h"
#include "base/log.h"

#define LOOK_NS    (10 * NS_PER_SEC)
#define MIN_SHARE  2 /* percent: 49 Hz become 1 */
#define CALM_LOOKS 6 /* a minute */

unsigned governor_limit(unsigned percent, long cpus)
{
    return cpus > GOVERNOR_CPUS ? (unsigned)((u64)percent * (u64)cpus / GOVERNOR_CPUS) : percent;
}

void governor_init(struct governor *g, unsigned max_percent)
{
    *g = (struct governor){.max_percent = max_percent,
                           .share = g->share ? g->share : 100,
                           .told = g->share ? g->told : 100,
                           .throttled = g->throttled};
}

static void lower(struct governor *g, double percent)
{
    g->calm = 0;
    if (g->share <= MIN_SHARE)
        return;
    g->share = g->share / 2 > MIN_SHARE ? g->share / 2 : MIN_SHARE;
    g->throttled++;
    log_warn(
        "the agent used %.1f %% of a CPU, above max-cpu (%u %%): sampling rate lowered to %u %% of the wanted rate",
        percent, g->max_percent, g->share);
}

static void raise_again(struct governor *g)
{
    g->calm = 0;
    g->share = g->share * 2 < 100 ? g->share * 2 : 100;
    log_warn("sampling rate raised to %u %% of the wanted rate", g->share);
}

bool governor_due(const struct governor *g, u64 now)
{
    return !g->looked_ns || now - g->looked_ns >= LOOK_NS;
}

unsigned governor_look(struct governor *g, double cpu_seconds, u64 now)
{
    if (!g->looked_ns) {
        g->looked_ns = now;
        g->cpu_seconds = cpu_seconds;
    }
    u64 passed = now - g->looked_ns;
    if (!governor_due(g, now))
        return g->share;
    double percent = 100 * (cpu_seconds - g->cpu_seconds) / ((double)passed / 1e9);
    g->looked_ns = now;
    g->cpu_seconds = cpu_seconds;
    if (percent > g->max_percent)
        lower(g, percent);
    else if (g->share < 100 && percent < g->max_percent / 3.0 && ++g->calm >= CALM_LOOKS)
        raise_again(g);
    return g->share;
}
