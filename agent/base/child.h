/* Starts this executable again as a child process, with a socket to it. The owner notices its failures and always ends
 * it with child_kill.
 *
 * A child that reads files of others may wait for a file system that does not answer: a FUSE daemon of a container's
 * making, a dead NFS server. Then it cannot even be killed: SIGKILL takes effect when the file system answers, perhaps
 * never (fs/fuse/dev.c: request_wait_answer). Such a child is left behind and another one is started.
 */
#pragma once
#include <stdbool.h>
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
/* Waits until the child's socket has something to read (an end counts). Returns 0; -ETIMEDOUT; -EREMOTEIO: the child
 * has made no progress for CHILD_STUCK_MS, so what it waits for may never come; or another -errno. */
int child_wait(const struct child_process *c, unsigned timeout_ms);
#define CHILD_STUCK_MS 1000
/* The same for its first words, before it reads anything of others: what it waits for then is the kernel, which may
 * take a second to give it a network of its own where it takes away those of others. Never -EREMOTEIO. */
int child_wait_for_start(const struct child_process *c, unsigned timeout_ms);

/* Kills the child and reaps it. Returns the CPU time that it used, in ns; 0 if it does not end within CHILD_KILL_MS: it
 * is left behind, and *left (may be NULL) is its pidfd, owned by the caller. Else *left is unchanged. */
uint64_t child_kill(struct child_process *c, int *left);
/* Reaps a child that was left behind, if it has ended by now; true: then its pidfd is of no use any more. */
bool child_has_ended(int pidfd);
#define CHILD_KILL_MS 500

/* The CPU time of an owner's children, one after the other. It is written by the owner, and read by any thread. */
struct child_clock {
    pid_t pid; /* atomic, like the others: the child that runs; 0: none */
    uint64_t ended_ns, most_ns;
};
void child_clock_start(struct child_clock *c, pid_t pid);
/* The child has ended; `used_ns` is what child_kill returned. */
void child_clock_end(struct child_clock *c, uint64_t used_ns);
/* Returns the sum, in ns. Never decreases. */
uint64_t child_clock_ns(struct child_clock *c);

/* Limits the rate of starts: START_BURST at once, then one per START_EVERY_NS. */
#define START_BURST    8
#define START_EVERY_NS 500000000ull
struct start_gate {
    uint64_t next_ns; /* theoretical time of the next start if all were evenly spaced */
};
/* Returns the time to wait before the next start, in ns, and reserves that start. */
uint64_t start_gate_wait(struct start_gate *g, uint64_t now);
/* Waits for as long. */
void start_gate_pass(struct start_gate *g);
