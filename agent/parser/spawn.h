/* Starts this executable again as a child process, with a socket to it. The owner notices its failures and always ends
 * it with child_kill.
 */
#pragma once
#include <stdint.h>
#include <sys/types.h>

struct child_process {
    pid_t pid; /* 0: none */
    int pidfd;
    int socket;
};
#define CHILD_PROCESS_NONE        \
    {                             \
        .pidfd = -1, .socket = -1 \
    }

/* O_PATH of this executable, for later starts. Owned fd or -errno. */
int child_open_self(void);
/* Starts `exe` as `argv`, with an empty environment, in a session of its own (the terminal's Ctrl-C is not for it); the
 * "%d" among argv, if there is one, becomes the number of its socket. Only async-signal-safe steps between fork and
 * exec: other threads may run. 0 or -errno. */
int child_start(int exe, const char *const argv[], struct child_process *out);
/* Kills and reaps. */
void child_kill(struct child_process *c);

/* Starts are free until there were START_BURST of them within a short while; from then on one per START_EVERY_NS. */
#define START_BURST    8
#define START_EVERY_NS 500000000ull
struct start_gate {
    uint64_t next_ns; /* theoretical time of the next start if all were evenly spaced */
};
/* How long to wait before the next start, in ns; takes the slot. */
uint64_t start_gate_wait(struct start_gate *g, uint64_t now);
