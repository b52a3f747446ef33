/* The sandbox that a process enters, permanently, before it reads untrusted data.
 *
 * Layers, outermost first, each of which is sufficient if another one has a hole:
 *  - seccomp: reading and mapping what it was given, memory, memfds and its one socket; nothing that opens, connects,
 *    executes, forks, or makes memory executable. Anything else kills the process.
 *  - no descriptor but the socket; 0-2 are /dev/null.
 *  - no capability in any set, no_new_privs, not dumpable (nobody else of its user may ptrace it), killed with its
 *    parent's thread.
 *  - what this machine allows (SANDBOX_LAYERS): Landlock; with the capabilities for it an empty read-only root
 *    directory, empty network and IPC namespaces, and user and group 65534.
 *  - limits: address space, private memory, CPU time, size and number of files; first choice of the OOM killer.
 * Built with ASan, stderr stays open and the allow-list has the few calls that its run-time needs (no path, no socket).
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

struct sandbox {
    int socket;           /* the descriptor to keep; becomes SANDBOX_SOCKET */
    size_t memory;        /* RLIMIT_AS beyond what the process has now; a quarter of it for RLIMIT_DATA */
    size_t file_size;     /* RLIMIT_FSIZE: the largest memfd */
    unsigned cpu_seconds; /* RLIMIT_CPU */
};
#define SANDBOX_SOCKET 3

/* Layers that not every machine allows; seccomp stands in front of all of them. X(enum name, slug, what is missing). */
#define SANDBOX_LAYERS(X)                                                      \
    X(LANDLOCK, "landlock", "Landlock (Linux 5.13, and an entry in lsm=)")     \
    X(USER, "user", "a user of its own (CAP_SETUID, CAP_SETGID, CAP_KILL)")    \
    X(ROOT, "root", "an empty root directory (CAP_SYS_ADMIN, CAP_SYS_CHROOT)") \
    X(NETWORK, "network", "an empty network namespace (CAP_SYS_ADMIN)")
enum sandbox_layer {
#define SANDBOX_LAYER_ENUM(name, slug, text) SANDBOX_##name,
    SANDBOX_LAYERS(SANDBOX_LAYER_ENUM)
#undef SANDBOX_LAYER_ENUM
        SANDBOX_LAYER_COUNT
};
struct sandbox_layer_text {
    const char *slug, *missing;
};
/* NULL after the last one. */
const struct sandbox_layer_text *sandbox_layer_text(unsigned layer);

/* Returns 0 and in *layers a bit for each enum sandbox_layer that holds; or -errno: the process is then half locked in
 * and has to exit. Single-threaded processes only. */
int sandbox_enter(const struct sandbox *s, unsigned *layers);
