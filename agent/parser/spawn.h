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
/* Starts `exe` as `argv`, with an empty environment, in its own session (it must not receive the terminal's Ctrl-C). A
 * "%d" in argv is replaced by the number of its socket. Only async-signal-safe functions are called between fork and
 * exec, because other threads may run. Returns 0 or -errno. */
int child_start(int exe, const char *const argv[], struct child_process *out);
/* Kills and reaps. Returns the CPU time that the child used, in ns. */
uint64_t child_kill(struct child_process *c);

/* Limits the rate of starts: START_BURST at once, then one per START_EVERY_NS. */
#define START_BURST    8
#define START_EVERY_NS 500000000ull
struct start_gate {
    uint64_t next_ns; /* theoretical time of the next start if all were evenly spaced */
};
/* Returns the time to wait before the next start, in ns, and reserves that start. */
uint64_t start_gate_wait(struct start_gate *g, uint64_t now);
