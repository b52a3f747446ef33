/* Declarations shared by the files that make kinds: made.c what they have in common, tracepoints.c, functions.c and
 * usdt.c what each form of name stands for.
 */
#pragma once
#include "events/made.h"
#include "probe/tracefs.h"
#include <stdio.h>
#include <string.h>

#define EVENT_OWN_NAME 40 /* characters of a name of its own */

struct event_probe {
    struct event_kind kind;
    struct xp_tp program;
    struct probe_places places; /* of functions; fd -1: none */
    struct probe_symbol symbol; /* of the kernel */
    char name[512];
    char type[2 * TRACEPOINT_NAME + 1]; /* what an occurrence is called in pprof */
    char value[2 * TRACEPOINT_NAME + 8], count[2 * TRACEPOINT_NAME + 8];
    char own[EVENT_OWN_NAME + 1], series[EVENT_OWN_NAME + 1]; /* by a name of its own */
};

#define TRACEPOINT "tracepoint:"
#define SYSCALL    "syscall:"
#define UPROBE     "uprobe:"
#define URETPROBE  "uretprobe:"
#define ULATENCY   "uprobe-latency:"
#define KPROBE     "kprobe:"
#define KRETPROBE  "kretprobe:"
#define PERF       "perf:"
#define LATENCY    "latency" /* of system calls, behind a colon; and the field with the time of a call */
#define USDT       "usdt:"

static inline bool made_is(const char *name, const char *form)
{
    return !strncmp(name, form, strlen(form));
}

/* Whether it times calls. */
static inline bool made_is_timed(const struct event_probe *p)
{
    const char *colon = strrchr(p->name, ':');
    return made_is(p->name, ULATENCY) || (made_is(p->name, SYSCALL) && colon && !strcmp(colon + 1, LATENCY));
}

/* Each of these fills in the type, the kind's probe, and the fields that conditions may ask for. Returns 0, or -errno
 * and a line. */
int made_tracepoint(struct event_probe *p, struct tracepoint *fields, char *why, size_t len);
int made_kprobe(struct event_probe *p, struct tracepoint *fields, char *why, size_t len);
/* Finds a function in the text of /proc/kallsyms. Returns 0; -ENOENT: it has none, but near[], with a blank before each
 * name. */
int kprobe_find(FILE *symbols, const char *name, char *near, size_t len);
#define KERNEL_FUNCTIONS 1000 /* that are probed at once */
/* Finds those that a pattern with `*` and `?` names: out->offsets, owned, and out->n. `traceable`: the kernel's list of
 * those that can be traced (NULL: all), others are out->left_out. *all: as many as there would be if all had room.
 * Returns 0; -ENOENT: there is none; -EACCES: no addresses are shown to us; or -ENOMEM. */
int kernel_functions(FILE *symbols, FILE *traceable, const char *pattern, struct probe_places *out, size_t *all);
/* Adds what the registers hold at a call, at a return, or at both. */
void made_registers(enum probe_when when, struct tracepoint *fields);
int made_usdt(struct event_probe *p, const struct event_choice *choice, struct tracepoint *fields, char *why,
              size_t len);
/* Sets which arguments of USDT probes terms and the value are about. */
void made_note_arguments(struct xp_tp *program);
int made_function(struct event_probe *p, const struct event_choice *choice, struct tracepoint *fields, char *why,
                  size_t len);
/* Gives a kind that is complete a name of its own. */
void made_name(struct event_probe *p, const char *name);
