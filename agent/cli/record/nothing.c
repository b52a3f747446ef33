#include "cli/record/nothing.h"

const char *nothing_because(const struct probe_config *c)
{
    enum { OTHER = 1, LOCK = 2, CLOCK = 4, OFFCPU = 8, RUNQUEUE = 16 };
    static const unsigned bits[] = {
        [PROBE_OFFCPU] = OFFCPU, [PROBE_WAKEUP] = OFFCPU, [PROBE_RUNQUEUE] = RUNQUEUE, [PROBE_LOCK] = LOCK};
    unsigned seen = 0;
    for (size_t i = 0; i < c->nevents; i++) {
        const struct probe_event *e = &c->events[i];
        seen |= e->time ? CLOCK : e->how == PROBE_PERF || e->how == PROBE_KIND ? OTHER : bits[e->how];
    }
    switch (seen == LOCK ? LOCK : seen & ~LOCK) { /* who waits for a lock is blocked, and needs no CPU */
    case LOCK:
        return "never waited for a lock";
    case CLOCK:
    case CLOCK | RUNQUEUE:
        return "used no CPU";
    case OFFCPU:
        return "never blocked";
    case RUNQUEUE:
        return "never waited for a CPU";
    case OFFCPU | RUNQUEUE:
        return "neither blocked nor waited for a CPU";
    default:
        return NULL;
    }
}
