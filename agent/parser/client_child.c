/* The client's child: started, greeted, listened to, and replaced when it is lost. */
#include "base/cleanup.h"
#include "base/clock.h"
#include "parser/client_internal.h"
#include <errno.h>
#include <poll.h>

#define START_TIMEOUT_MS 10000 /* of a child to lock itself in: milliseconds, but the machine may be busy */

/* Receives an answer with at most one descriptor. */
int client_receive(struct parser *p, unsigned timeout_ms, struct parser_answer *a, int *fd)
{
    int fds[PACKET_MAX_FDS];
    int rc = child_wait(&p->child, timeout_ms);
    if (rc || (rc = packet_recv(p->child.socket, a, sizeof(*a), fds)))
        return rc;
    for (unsigned i = 1; i < PACKET_MAX_FDS; i++)
        xp_cleanup_close(&fds[i]);
    if (fds[1] >= 0) {
        close(fds[0]);
        return -EPROTO;
    }
    *fd = fds[0];
    return 0;
}

/* The greeting comes when the child is locked in, so nothing hostile ever reaches one that is not. */
static int greet(struct parser *p)
{
    struct parser_answer a;
    AUTO_CLOSE int fd = -1;
    int rc = child_wait_for_start(&p->child, START_TIMEOUT_MS);
    if (!rc)
        rc = client_receive(p, START_TIMEOUT_MS, &a, &fd);
    if (rc)
        return rc;
    if (a.id || a.status > 0 || fd >= 0)
        return -EPROTO;
    if (!a.status)
        __atomic_store_n(&p->layers, a.flags, __ATOMIC_RELAXED);
    return a.status;
}

void client_end_child(struct parser *p)
{
    child_clock_end(&p->clock, hung_end_child(p->hung, &p->child));
}

u64 parser_cpu_ns(struct parser *p)
{
    return child_clock_ns(&p->clock);
}

int client_start(struct parser *p)
{
    char memory[32], timeout[16];
    snprintf(memory, sizeof(memory), "%zu", p->limits.memory);
    snprintf(timeout, sizeof(timeout), "%u", p->limits.timeout_ms);
    const char *argv[] = {"xprof", p->role, "%d", memory, timeout, NULL};
    if (p->lost)
        start_gate_pass(&p->gate);
    bool again = p->lost && p->starts;
    p->lost = true; /* until one has greeted */
    int rc = child_start(p->exe, argv, &p->child);
    if (rc)
        return rc;
    rc = greet(p);
    if (rc) {
        client_end_child(p);
        return rc;
    }
    p->lost = false;
    p->starts++;
    child_clock_start(&p->clock, p->child.pid);
    __atomic_add_fetch(&p->restarts, again, __ATOMIC_RELAXED);
    return 0;
}

/* A child that is there and silent: one that left or spoke unasked between two requests costs nobody a file. */
int client_ensure_child(struct parser *p)
{
    struct pollfd idle = {.fd = p->child.socket, .events = POLLIN};
    if (p->child.pid && poll(&idle, 1, 0) == 0)
        return 0;
    p->lost |= p->child.pid != 0;
    client_end_child(p);
    return client_start(p) ? -ECHILD : 0;
}
