/* What the scheduler did, for as long a time as fits into a budget: the oldest is dropped, and counted.
 *
 * Each CPU has a list of chunks with its events, as differences to the ones before in variable-length numbers: 6 to 8
 * bytes an event. What is dropped leaves its mark in a machine (machine.h), so that it is known how the rest begins.
 */
#pragma once
#include "base/map.h"
#include "timeline/chunk.h"
#include "timeline/machine.h"

#define TL_LISTED_STACKS 4096 /* distinct kernel stacks of threads that were asleep at the start */

struct tl_thread {
    u32 tid, tgid;
    char comm[16], process[16]; /* names; process: that of its main thread, when this one began */
    u64 listed;                 /* when it was seen in the list of all threads; 0: it was not */
    u8 wanted;
    u8 gone;
};
struct tl_frames {
    u32 n;
    u64 v[XP_TL_FRAMES];
};
struct tl_figures {
    u64 switches, wakeups; /* that came */
    u64 dropped;           /* events that were too old for the budget */
    u64 left_out;          /* of threads beyond those for which there is room */
    u64 bytes;             /* of memory, at most */
};
struct tl_store;

/* `begin`: when the recording began, by CLOCK_MONOTONIC. Returns 0 or -ENOMEM. */
int store_new(struct tl_store **out, u32 ncpus, u64 begin, size_t budget);
void store_free(struct tl_store **s);

/* Returns the row of a thread ID; 0: there is no room for another one. */
u32 store_thread(struct tl_store *s, u32 tid, u64 now);
/* Begins a thread anew at `now`: its ID may have been another's. One that was listed later than that is the same. */
u32 store_born(struct tl_store *s, u32 tid, u64 now);
struct tl_thread *store_row(const struct tl_store *s, u32 row);
u32 store_rows(const struct tl_store *s);

/* Adds an event of the kernel side. What does not make sense is left out. Returns 0 or -ENOMEM. */
int store_event(struct tl_store *s, const struct xp_tl_event *e);
/* Says what a thread was doing when the recording began. */
void store_listed(struct tl_store *s, u32 row, const struct xp_tl_listed *l);
/* From here on, threads that are not known have just begun. */
void store_all_listed(struct tl_store *s);

/* The events of a CPU, oldest first; and how everything was before the first ones. */
struct tl_cursor store_events(const struct tl_store *s, u32 cpu);
const struct tl_machine *store_machine(const struct tl_store *s);
/* Tells everything in the order of time, until `end` (replay.c). May be called again. Returns 0 or -ENOMEM. */
int store_replay(const struct tl_store *s, u64 end, const struct tl_visitor *v);
/* Returns the frames of a number (struct tl_slice) that store_listed gave; NULL: it is a key of the kernel side, + 1.
 */
const struct tl_frames *store_frames(const struct tl_store *s, u32 stack);
struct tl_figures store_figures(const struct tl_store *s);
