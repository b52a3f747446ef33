/* Kinds of events that are counted in sums per distinct stack (bpf/kind.bpf.h): each one is loaded and attached while
 * somebody wants it.
 */
#pragma once
#include "base/vec.h"
#include "bpf/types.h"
#include "bpf/xprof.h"
#include "bpf/heap.h"
#include "probe/places.h"
#include "probe/probe.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct kinds;
struct probe;
struct probe_event;
struct probe_places;
struct probe_symbol;
struct disks;
struct probe_waits;
struct xp_kmem_settings;
struct bpf_object;
struct bpf_program;
struct bpf_link;
struct bpf_map;

int kinds_new(struct kinds **out); /* 0 or -ENOMEM */
void kinds_free(struct kinds **all);
/* Begins and ends kinds, as is wanted now (bits of events). What this kernel does not load is not tried again. Returns
 * 0; 1: at least one began; or -errno and a line in why[], when the others follow what is wanted nevertheless. */
int kinds_see(struct kinds *all, struct probe *p, u32 wanted, char *why, size_t len);
/* Detaches; what was counted is kept. */
void kinds_stop(struct kinds *all);
bool kinds_any(const struct kinds *all);
/* Counts what programs that rest have missed, if they know. Returns 0 or -errno. */
int kinds_catch_up(const struct kinds *all);
/* Appends what was counted in an interval that has ended (xp_live.interval). Returns 0 or -errno. */
int kinds_take(struct kinds *all, struct probe *p, u32 interval, struct probe_waits *out);
u64 kinds_map_bytes(const struct kinds *all); /* kernel memory, in bytes */
/* Sees what they cost, as probe_see_costs does. */
u32 kinds_see_costs(struct kinds *all, struct probe *p);
bool kinds_may_cost(const struct kinds *all);           /* whether one that counts what it costs is attached */
void kinds_run_time(const struct kinds *all, u64 ns[]); /* adds that of each event to its number */

/* ---- kind_object.c ---- */

#define KIND_COMMON 5
extern const char *const KIND_COMMON_MAPS[KIND_COMMON]; /* names of the maps that kinds share among themselves */

/* Loads the object of a kind. `other`: that of another one, or NULL. Returns 0; -ENOENT or -ESRCH: this kernel lacks
 * what a program needs; or -errno. */
int kind_load(struct bpf_object **out, const struct probe *p, const char *name, const struct xp_config *config,
              struct bpf_object *other);
/* By which means its programs are attached to the places of its event. */
enum probe_links kind_means(const struct probe *p, size_t event);
void kind_unload(struct bpf_object **object);
/* Whether its programs are preempted, and share no scratch memory with those of other kinds (bpf/slots.bpf.h). */
bool kind_is_slotted(const struct bpf_object *object);
/* Returns the kernel memory of the maps that are its own, or of those that kinds share. */
u64 kind_map_bytes(struct bpf_object *object, const struct probe *p, bool common);

#define KIND_COST_MAP "probe_cost" /* in which programs count what they cost, if they do */
/* Reads that. `trap_ns`: what a hit costs beside them. Returns 0 or -errno. */
int kind_cost(const struct bpf_map *map, int cpus, u64 trap_ns, u64 *hits, u64 *ns);

/* ---- kind_links.c ---- */

/* What the programs of a kind are attached by. Those whose names begin with xp_keep_ cost next to nothing, and stay
 * while the others rest. */
struct kind_links {
    VEC(struct bpf_link *) resting, staying;
    enum probe_links means;
    struct places_held places; /* that its event names */
};
/* Attaches all programs, or those that rest. Returns 0 or -errno: some may be attached. */
int kind_attach(struct kind_links *l, const struct probe *p, size_t event, const struct bpf_object *object);
void kind_rest(struct kind_links *l);
void kind_detach(struct kind_links *l);
bool kind_is_attached(const struct kind_links *l); /* none of them rests */
/* Reads its iterator xp_catch_up, if it has one, to the end. Returns 0 or -errno. */
int kind_catch_up(const struct bpf_object *object);

/* ---- kind_why.c ---- */

/* Says why a kind could not be loaded or attached. Returns rc. */
int kind_explain(int rc, const struct probe_event *event, char *why, size_t len);
/* Says how many places its programs go on without, unless there is another line. */
void kind_say_refused(const struct probe_event *event, size_t refused, char *why, size_t len);

/* ---- kind_perf.c ---- */

/* Attaches a program to its event of perf on a CPU. Returns NULL, with errno, if that fails. */
struct bpf_link *kind_attach_perf(const struct bpf_program *program, int cpu);
/* The same to a tracepoint, by its number in tracefs: on all CPUs. */
struct bpf_link *kind_attach_tracepoint(const struct bpf_program *program, u64 tracepoint);

/* Whether a program of a kind sees the end of what another one saw begin. */
bool kind_is_after(const struct bpf_program *program);

/* The same to a place in the kernel, by a kprobe. */
struct bpf_link *kind_attach_kprobe(const struct bpf_program *program, const struct probe_symbol *symbol);

/* ---- uprobes.c ---- */

/* The loaded object of an event whose programs are attached to places in files; NULL: it was never wanted. */
struct bpf_object *uprobes_object(const struct probe *p, size_t event);

/* ---- heap.c: what is special about kind `memory`; both do nothing to the objects of others ---- */

/* Sets which blocks are sampled, and which processes are held, after loading. Returns 0 or -errno. */
int heap_configure(struct bpf_object *object, const struct probe *p, size_t event);
/* Nothing that happens from now on counts. */
void heap_end(struct bpf_object *object);
/* Sets the odds of all sizes; a period of 0 is PROBE_HEAP_PERIOD. */
void heap_odds(u32 odds[XP_HEAP_ODDS], u64 period);

/* ---- kmem.c: what is special about kind `kmem`; the first two do nothing to the objects of others ---- */

int kmem_prepare(struct bpf_object *object, const struct probe *p);   /* before loading; 0 or -errno */
int kmem_configure(struct bpf_object *object, const struct probe *p); /* after it; 0 or -errno */
/* Finds the code of slab allocators and of interrupts in kernel symbols (/proc/kallsyms). Returns whether all slab
 * allocators are known. */
bool kmem_find_code(FILE *symbols, struct xp_kmem_settings *out);

/* ---- disk.c ---- */

/* Takes over what was counted of the latency of disks; `last`: the object goes. Does nothing to the objects of others.
 */
void disks_take(struct disks *d, const struct bpf_object *object, int cpus, bool last);

/* ---- usdt.c: what is special about kind `usdt`; both do nothing to the objects of others ---- */

/* Before loading. `arguments`: those that are read, as bits; `plain`: there are no cookies. Returns 0; -EDOM: then
 * these have to be at one place at all sites, and are not; or another -errno. */
int usdt_prepare(struct bpf_object *object, const struct probe_places *places, u32 arguments, bool plain);
int usdt_configure(struct bpf_object *object, const struct probe_places *places); /* after it; 0 or -errno */

/* ---- goroutines.c: what is special about locks of Go (bpf/kinds/goroutines.bpf.c) ---- */

/* Forgets the waits of processes that have ended, and counts those of each cgroup. Does nothing to the objects of
 * others. */
void goroutines_tidy(struct bpf_object *object);
