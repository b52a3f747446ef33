/* The second eBPF object: it follows threads off their CPUs (bpf/waits.bpf.h). It is loaded and attached only while
 * somebody wants one of its events, and uses the maps of the first object.
 */
#pragma once
#include "probe/probe.h"

struct sched;

/* Loads and attaches. Returns 0, or -errno and a line in why[]. */
int sched_start(struct sched **out, const struct probe *p, char *why, size_t why_len);
/* Detaches; what was counted is kept. */
void sched_stop(struct sched *s);
void sched_free(struct sched **s);
/* Counts waits that go on, ends the interval of the kernel side, and appends what was counted in it. Returns 0 or
 * -errno. */
int sched_take(struct sched *s, struct probe_waits *out);
