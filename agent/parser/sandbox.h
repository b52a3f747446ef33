/* The sandbox that a process enters, permanently, before it reads untrusted data.
 *
 * Layers, outermost first, each of which is sufficient if another one has a hole:
 *  - seccomp: reading and mapping what it was given, memory, memfds and its one socket; nothing that opens, connects,
 *    executes, forks, or makes memory executable. Anything else kills the process.
 *  - no descriptor but the socket; 0-2 are /dev/null.
 *  - as root: an empty read-only root directory, empty network and IPC namespaces (best effort: seccomp stands in
 *    front of both), and then user and group 65534 with no capability in any set.
 *  - no_new_privs, not dumpable (nobody else of user 65534 may ptrace it), killed with its parent's thread.
 *  - limits: address space, private memory, CPU time, size and number of files; first choice of the OOM killer.
 * Built with ASan, stderr stays open and the allow-list has the few calls that its run-time needs (no path, no socket).
 */
#pragma once
#include <stddef.h>

struct sandbox {
    int socket;           /* the descriptor to keep; becomes SANDBOX_SOCKET */
    size_t memory;        /* RLIMIT_AS beyond what the process has now; a quarter of it for RLIMIT_DATA */
    size_t file_size;     /* RLIMIT_FSIZE: the largest memfd */
    unsigned cpu_seconds; /* RLIMIT_CPU */
};
#define SANDBOX_SOCKET 3

/* 0 or -errno: the process is then half locked in and has to exit. Single-threaded processes only. */
int sandbox_enter(const struct sandbox *s);
