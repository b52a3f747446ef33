/* Reads the symbolized stacks of all threads of a process, running or waiting, without stopping the process. */
#pragma once
#include "bpf/types.h"
#include "profile/profile.h"
#include <stdbool.h>

struct binaries_config;
struct stacks;

/* Loads the eBPF program that reads the threads of the process. Returns 0, or -errno and a line in why[]. */
int stacks_new(struct stacks **out, u32 tgid, const struct binaries_config *config, char *why, size_t len);
void stacks_free(struct stacks **s);

struct stacks_thread {
    u32 tid;
    char state;   /* as ps(1) shows it: R, S, D, T, t, Z, X, I, P */
    bool running; /* sampled while it ran on a CPU */
    bool moved;   /* it ran between the reads of its registers and its stack, in every attempt */
};
struct stacks_list { /* vec_free */
    struct stacks_thread *v;
    size_t n, cap;
};

/* Takes the stacks of all threads, or of one thread (tid != 0). Fills an empty profile in which each thread is a
 * separate process (prof_process.tgid is the thread ID) with one stack. Returns 0; -ESRCH: the process or thread has
 * exited; -ENOMEM; or another -errno. */
int stacks_take(struct stacks *s, u32 tid, struct profile *out, struct stacks_list *threads);
