/* Keeps the names of frames of runtimes from when they were read until they are needed: those of an interval, and those
 * that the one before had. Each cgroup has a share of the room. Owned by the worker thread.
 */
#pragma once
#include "parser/parser.h"

struct frame_names;

/* 0 or -ENOMEM. */
int frame_names_new(struct frame_names **out, bool share);
void frame_names_free(struct frame_names **r);
/* Adds the names of n frames of a process, of two words each. */
void frame_names_add(struct frame_names *r, u32 tgid, u64 start, u64 cgroup, const u64 *words, size_t n,
                     const struct names *names);
/* Adds the texts of a code object: frames of it that cannot be read any more are named by them, without lines. */
void frame_names_code(struct frame_names *r, const struct xp_code_event *e);
/* Calls `use` with what is known of n frames; those of which nothing is known have no names. Returns 0 or -ENOMEM. */
int frame_names_answer(struct frame_names *r, u32 tgid, u64 start, const u64 *words, size_t n,
                       void (*use)(void *arg, const struct names *names), void *arg);
/* An interval ended: forgets what it did not use. */
void frame_names_age(struct frame_names *r);
struct frame_names_stats { /* frames, since the start */
    u64 named;
    u64 gone; /* whose owner was another one by then */
    u64 lost; /* that found no room */
};
struct frame_names_stats frame_names_stats(const struct frame_names *r);
