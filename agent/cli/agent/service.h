/* Talks to the service manager: handles signals, watches the configuration file for changes, and reports readiness
 * (sd_notify(3)).
 */
#pragma once
#include "bpf/types.h"
#include <stdbool.h>
#include <sys/stat.h>

enum service_request { SERVICE_NONE, SERVICE_RELOAD, SERVICE_STOP };

struct service_signals {
    int fd;           /* signalfd; -1 */
    const char *file; /* to be watched; NULL: none */
    struct stat seen; /* of the file */
    u64 looked_ns;
};

/* Blocks the signals in this thread and in all threads that it starts later. `file` is borrowed. Returns 0 or
 * -errno. */
int service_signals_init(struct service_signals *s, const char *file);
void service_signals_free(struct service_signals *s);
/* Waits for a signal, at most timeout_ms. */
void service_wait(const struct service_signals *s, int timeout_ms);
/* Returns SERVICE_STOP after SIGINT or SIGTERM, SERVICE_RELOAD after SIGHUP or a change of the file (checked once per
 * second). Does not wait. */
enum service_request service_poll(struct service_signals *s, u64 now_ns);

/* Notifies systemd of `state` if $NOTIFY_SOCKET is set; else does nothing. */
void service_notify(const char *state);
