/* Remembers what does not answer: devices whose files, and containers whose roots made a child wait in vain. They are
 * left alone for a while, and twice as long each time. Who has several of them is left alone altogether, so that no
 * container can make us wait for each of a thousand mounts. Also keeps the children that were left behind, until they
 * end.
 *
 * Shared by all threads that open files.
 */
#pragma once
#include "bpf/types.h"
#include <stdbool.h>
#include <stddef.h>

struct hung;

#define HUNG_FIRST_NS   (5ull * 1000000000)
#define HUNG_LONGEST_NS (600ull * 1000000000)
#define HUNG_PLACES     1024 /* remembered; the one that is due first is forgotten */
#define HUNG_OF_OWNER   4    /* from here on, nothing of the owner is opened */
#define HUNG_LEFT       64   /* children left behind; from here on, nothing that has hung is tried again */

/* A device, or a root of a container. */
struct hung_place {
    u64 id;
    u64 owner; /* the cgroup whose file it was; 0: nobody's */
};

struct xp_file_event;
/* Tells whether a file system of this kind (f_type in statfs(2)) may leave a request unanswered at a container's will:
 * those that are not known to be local. */
bool hung_may(u32 magic);
/* Returns the place of a file: its device; on a local file system, which others use, too, the file itself. */
struct hung_place hung_place_of(const struct xp_file_event *e);
/* Returns the place of the memory of a process, which may be in such files: the process itself. */
struct hung_place hung_place_of_process(u32 tgid, u64 start, u64 cgroup);
/* Returns the place of a directory (O_PATH) below which files are looked for; -1: "/". */
struct hung_place hung_place_of_root(int fd);

/* 0 or -ENOMEM. */
int hung_new(struct hung **out);
/* Children that are still there are left to init. */
void hung_free(struct hung **h);

/* Tells whether the place, or all places of its owner, are to be left alone now. h may be NULL: never. */
bool hung_is(struct hung *h, const struct hung_place *p, u64 now_ns);
/* Notes that it did not answer. Returns the time for which it is left alone, in ns. */
u64 hung_note(struct hung *h, const struct hung_place *p, u64 now_ns);
/* Returns how long it will still be left alone, in ns; HUNG_FIRST_NS if that depends on others. */
u64 hung_wait(struct hung *h, const struct hung_place *p, u64 now_ns);
/* Notes that it answered. */
void hung_answered(struct hung *h, const struct hung_place *p);

struct child_process;
/* Ends a child (child_kill) and keeps it if it cannot end; h may be NULL: nobody does. Returns the CPU time that it
 * used, in ns. */
u64 hung_end_child(struct hung *h, struct child_process *c);
/* Takes the pidfd of a child that cannot end. */
void hung_keep_child(struct hung *h, int pidfd);
/* Reaps those that have ended; returns how many are left. */
size_t hung_children(struct hung *h);
/* Returns the number of places that are left alone now. */
size_t hung_places(struct hung *h, u64 now_ns);
