/* The options of xprof stack, and the output of stacks. */
#pragma once
#include "cli/toolbox.h"
#include "inspect/stacks.h"

struct stack_options {
    bool all_threads, json;
    u64 times, interval_ns;
    struct toolbox_options tools;
};
extern const struct command stack_command;

/* Appends the stacks of all threads, sorted by thread ID. Returns 0 or -ENOMEM. */
int stack_text(const struct profile *p, const struct stacks_list *threads, struct buf *out);
/* Appends the same as one JSON object on one line. */
int stack_json(u32 pid, const struct profile *p, const struct stacks_list *threads, struct buf *out);
