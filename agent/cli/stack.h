/* xprof stack: its options, and how stacks look. */
#pragma once
#include "cli/options.h"
#include "stacks.h"

struct stack_options {
    bool all_threads, json, no_cache;
    u64 times, interval_ns;
    const char *cache_dir;
    struct option_list debug_dirs;
};
extern const struct command stack_command;

/* Appends the stacks of all threads, by thread number. 0 or -ENOMEM. */
int stack_text(const struct profile *p, const struct stacks_list *threads, struct buf *out);
/* The same as one JSON object on a line. */
int stack_json(u32 pid, const struct profile *p, const struct stacks_list *threads, struct buf *out);
