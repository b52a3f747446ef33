/* Attaches programs of kinds to the places that their event names, in files or in the kernel: by one link to many of
 * them (uprobe_multi, Linux 6.6; kprobe_multi, 5.18), or by a perf event for each one.
 */
#pragma once
#include "base/vec.h"
#include "probe/probe.h"
#include <linux/perf_event.h>

struct bpf_object;
struct bpf_program;

#define PLACES_PERF_MOST 1000 /* perf events, of which each one has a file descriptor */

/* Returns how programs are attached to places on this machine; not PROBE_LINKS_AUTO. `wanted`: how they should be. */
enum probe_links places_means(enum probe_links wanted, const struct probe_places *places);
/* Prepares the programs of an object for that, before it is loaded. `places`: NULL if they come later, which takes
 * cookies. Returns 0; -ENOTSUP: this kernel has no such links, or cookies; -E2BIG: there are too many places; -EPERM:
 * perf events are not for this process. */
int places_prepare(struct bpf_object *object, enum probe_links means, const struct probe_places *places);

struct places_held { /* what attaches a program; release with places_detach */
    probe_fds fds;
    size_t refused; /* places that the kernel does not probe */
};
struct places_request { /* borrowed */
    const struct bpf_program *program;
    enum probe_links means;
    const struct probe_places *places;
    bool returns;       /* from there */
    const u64 *cookies; /* of each */
    u32 tgid;           /* of the process; 0: all of them */
};
/* Attaches a program, loaded, to places. Returns 0 or -errno: it is attached nowhere. */
int places_request(const struct places_request *r, struct places_held *out);
/* The same in all processes, with the numbers of the places as cookies. */
int places_attach(const struct bpf_program *program, enum probe_links means, const struct probe_places *places,
                  bool returns, struct places_held *out);
void places_detach(struct places_held *h);
/* Whether an error says that no program can be attached to an instruction of a file. */
bool places_is_of_instruction(int rc);

/* ---- places_perf.c: perf events of the kind that a PMU of the kernel makes, `uprobe` or `kprobe` ---- */

struct places_pmu {
    u32 type;
    u32 returns, counter; /* in perf_event_attr.config: the bit of returns, the first bit of the semaphore's place */
};
/* Reads that of a folder such as /sys/bus/event_source/devices/uprobe. Returns 0; -ENOENT: the kernel has none; or
 * -EBADMSG. */
int places_pmu_read(const char *folder, struct places_pmu *out);
/* Fills in the event of one place. `path`: its file, if it is in one. Returns 0; -EFBIG: the place of its semaphore has
 * no room there. */
int places_perf_attr(const struct places_pmu *pmu, const struct probe_places *places, size_t number, bool returns,
                     const char *path, struct perf_event_attr *out);
