/* Declarations shared by the files that make kinds: made.c what they have in common, tracepoints.c, functions.c and
 * usdt.c what each form of name stands for.
 */
#pragma once
#include "events/made.h"
#include "probe/tracefs.h"
#include <string.h>

#define EVENT_OWN_NAME 40 /* characters of a name of its own */

struct event_probe {
    struct event_kind kind;
    struct xp_tp program;
    struct probe_places places; /* of functions; fd -1: none */
    char name[512];
    char type[2 * TRACEPOINT_NAME + 1]; /* what an occurrence is called in pprof */
    char value[TRACEPOINT_NAME];
    char own[EVENT_OWN_NAME + 1], series[EVENT_OWN_NAME + 1], count[EVENT_OWN_NAME + 8]; /* by a name of its own */
};

#define TRACEPOINT "tracepoint:"
#define SYSCALL    "syscall:"
#define UPROBE     "uprobe:"
#define URETPROBE  "uretprobe:"
#define USDT       "usdt:"

static inline bool made_is(const char *name, const char *form)
{
    return !strncmp(name, form, strlen(form));
}

/* Each of these fills in the type, the kind's probe, and the fields that conditions may ask for. Returns 0, or -errno
 * and a line. */
int made_tracepoint(struct event_probe *p, struct tracepoint *fields, char *why, size_t len);
int made_usdt(struct event_probe *p, const struct event_choice *choice, struct tracepoint *fields, char *why,
              size_t len);
/* Sets which arguments of USDT probes terms and the value are about. */
void made_note_arguments(struct xp_tp *program);
int made_function(struct event_probe *p, const struct event_choice *choice, struct tracepoint *fields, char *why,
                  size_t len);
/* Gives a kind that is complete a name of its own. */
void made_name(struct event_probe *p, const char *name);
