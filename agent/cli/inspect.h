/* The options of xprof inspect, and the output of its findings. */
#pragma once
#include "cli/toolbox.h"
#include "inspect/inspect.h"

struct inspect_options {
    bool all, json;
    struct toolbox_options tools;
};
extern const struct command inspect_command;

struct inspect_address {
    u64 address;
    u32 id; /* 0: not in a file */
    u64 offset;
};

/* Append all findings about one file; a single line about it. */
void inspect_text(const struct inspection *i, struct buf *out);
void inspect_line(const struct inspection *i, struct buf *out);
void inspect_json(const struct inspection *i, struct buf *out);
/* Appends what the runtime of a process is; nothing: it has none. JSON: a member of an object that has others. */
void inspect_runtime(struct binaries *b, u32 pid, bool json, struct buf *out);
/* Append one address with its functions, innermost first, and its unwind rule. */
void inspect_address_text(struct binaries *b, const struct inspect_address *a, struct buf *out);
void inspect_address_json(struct binaries *b, const struct inspect_address *a, struct buf *out);
