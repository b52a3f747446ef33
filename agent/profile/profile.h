/* A symbolized profile. It does not refer to processes or files, which may no longer exist. It is the only input of the
 * encoders. Strings are UTF-8 and interned: equal strings have equal numbers; string 0 is "".
 */
#pragma once
#include "base/buf.h"
#include "base/vec.h"
#include "bpf/types.h"
#include "bpf/xprof.h"
#include "events/events.h"
#include <stdbool.h>

/* FRAME_WAIT: no code, but what the thread waited for, or whom (wait_frames.h). */
enum frame_origin { FRAME_NATIVE, FRAME_KERNEL, FRAME_JIT, FRAME_WAIT };

#define KERNEL_MAPPING "[kernel.kallsyms]"

struct prof_mapping {
    u32 name;      /* path, "[vdso]", "[kernel.kallsyms]" or a module, "[anon]", "[wait]", "[waker]", "[lock]", or of
                      a runtime (runtime_mappings.h) */
    u32 build_id;  /* lower-case hex, or 0 */
    u64 lo, hi;    /* the executable segment, or the lowest and highest address used: covers all its locations */
    u64 lo_offset; /* the file offset of lo */
    s32 error;     /* -errno of querying its names; 0: success */
    bool has_functions; /* at least one name came from symbols */
    bool locks;         /* of nothing but locks */
};
struct prof_function {
    u32 name;        /* for display */
    u32 system_name; /* as in the symbol table */
    u32 file;        /* source file or 0 */
    u32 start_line;
};
struct prof_line { /* innermost (inlined) first */
    u32 function;
    u32 line;
    u8 code; /* enum runtime_kind (runtime/kinds.h); 0: it is not code of a runtime */
};
#define INTO_UNKNOWN UINT64_MAX /* it was named in the file that the profile was read from */
struct prof_location {
    u64 address; /* of a caller: return address - 1, as in profile.proto */
    u32 mapping;
    u32 first_line, nlines; /* into lines[] */
    u64 into;               /* bytes from the entry of the function to the address; of a caller, to where it returns; or
                               INTO_UNKNOWN */
    u8 origin;              /* enum frame_origin */
    u8 word_kind;           /* enum xp_word: how the frame was found */
};
struct prof_process {
    u32 name; /* comm */
    u32 tgid;
    u64 start, cgroup;
};
struct prof_stack {
    u32 process;
    u32 thread;     /* string: its name; 0: not known */
    u32 tid, nstid; /* its numbers: ours, and in its own namespace of PIDs; 0: not known */
    u64 time;       /* of the one sample that it is of, CLOCK_MONOTONIC, ns; 0: of any number of them */
    u32 holder;     /* string: name of the thread that held the lock; 0: not known, or no wait for one */
    u32 tag;        /* string: the file or peer that it was about; 0: none. It is a label (struct event_kind: tag) */
    u32 first, n;   /* into stack_locations[], leaf first: the reason of a wait, kernel frames, user frames */
    u8 cause;       /* enum xp_cause */
    u8 found;       /* FOUND_* (frames.h), if the profile was read from a file: applies to unknown frames */
    u8 code;        /* the same for stack_code */
    u8 event;       /* place of its kind in profile.events */
    u64 count[EVENT_VALUES];
    u64 value[EVENT_VALUES];
};
struct prof_column { /* a value that a profile has */
    u8 event;
    u8 value; /* of that event */
};
#define PROF_COLUMNS (XP_MAX_EVENTS * EVENT_VALUES)

struct profile {
    struct strings *strings;
    VEC(struct prof_mapping) mappings;
    VEC(struct prof_function) functions;
    VEC(struct prof_line) lines;
    VEC(struct prof_location) locations;
    VEC(u32) stack_locations;
    VEC(struct prof_process) processes;
    VEC(struct prof_stack) stacks;
    /* About the recording */
    const struct event_kind *events[XP_MAX_EVENTS];
    struct recorded_kind *made[XP_MAX_EVENTS]; /* those of them that are the profile's own (recorded_types.h) */
    u64 period[XP_MAX_EVENTS];
    size_t nevents;
    u64 time_ns; /* wall clock at the start, ns since 1970 */
    u64 duration_ns;
    struct {
        u64 count, value;
    } left_out, idle;  /* waits for what is no lock, and of idle threads (locks.h), which are not in stacks */
    VEC(u32) comments; /* strings "key: value": command, host, version, ... */
};

/* Whether a stack has anything. A wait that goes on after its interval has time there, but is not counted before it
 * ends. */
static inline bool stack_has_any(const struct prof_stack *s)
{
    u64 any = 0;
    for (size_t v = 0; v < EVENT_VALUES; v++)
        any |= s->count[v] | s->value[v];
    return any != 0;
}
/* The occurrences that a stack stands for. */
static inline u64 stack_count(const struct prof_stack *s)
{
    u64 n = 0;
    for (size_t v = 0; v < EVENT_VALUES; v++)
        n += s->count[v];
    return n;
}
static inline void stack_add(struct prof_stack *to, const struct prof_stack *from)
{
    for (size_t v = 0; v < EVENT_VALUES; v++) {
        to->count[v] += from->count[v];
        to->value[v] += from->value[v];
    }
}

int profile_init(struct profile *p); /* 0 or -ENOMEM */
void profile_free(struct profile *p);
/* Returns the number of a string (bytes that are not UTF-8 become U+FFFD); 0 for "" and if out of memory. */
u32 profile_string(struct profile *p, const char *s);
const char *profile_text(const struct profile *p, u32 string);
/* Adds a location like `as`, but with one function, of this name. Returns 0 or -ENOMEM. */
int profile_add_location(struct profile *p, u32 name, struct prof_location as, u32 *out);
/* Returns the name of a location's innermost function, "" without one. Kernel frames have no other. */
const char *profile_function(const struct profile *p, const struct prof_location *l);
/* Of stacks with a location that `has`, leaves those that `keeps`. */
/* Adds up stacks that differ by the times of their samples only (moments.c). */
void profile_forget_times(struct profile *p);
typedef bool profile_choice(const struct profile *p, const struct prof_location *l);
void profile_reduce(struct profile *p, profile_choice *has, profile_choice *keeps);
/* The values that a profile has, those of one event next to each other; returns their number. */
size_t profile_columns(const struct profile *p, struct prof_column out[PROF_COLUMNS]);
/* Where there is room for one value only, it is this one. NULL: there are no events. */
const struct event_value *profile_main(const struct profile *p);
/* Returns what a stack has of it. */
u64 profile_main_of(const struct profile *p, const struct prof_stack *s);
/* Returns the value of the i-th comment ("key: value"), and replaces `key` by its key, NUL-terminated; NULL: it has
 * none, or there is no memory (key->failed). */
const char *profile_comment(const struct profile *p, size_t i, struct buf *key);
/* Returns the title of the recording: the value of the first comment (the command). */
const char *profile_title(const struct profile *p);
