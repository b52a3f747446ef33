/* Reads the names of the kernel when they are needed, or in the background before that. */
#pragma once
#include "cache/kernel_names.h"
#include <pthread.h>
#include <stdbool.h>

struct kernel_reader { /* {.cache = ...} at first: borrowed, NULL: none; release with kernel_reader_free */
    struct cache *cache;
    struct kernel_names *names; /* the thread's while it runs; NULL: there are none */
    pthread_t thread;
    bool running, tried;
};

/* Starts reading them in the background. */
void kernel_reader_start(struct kernel_reader *r);
/* Finds the function at a kernel address; reads the names first, if that was not done. */
bool kernel_reader_find(struct kernel_reader *r, u64 address, struct kallsym *out);
void kernel_reader_free(struct kernel_reader *r);
