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
    int rc = client_receive(p, START_TIMEOUT_MS, &a, &fd);
    if (rc)
        return rc;
    if (a.id || a.status > 0 || fd >= 0)
        return -EPROTO;
    if (!a.status)
        __atomic_store_n(&p->layers, a.flags, __ATOMIC_RELAXED);
    return a.status;
}

static void wait_at_gate(struct parser *p)
{
    uint64_t wait = start_gate_wait(&p->gate, now_ns());
    struct timespec t = {.tv_sec = (time_t)(wait / NS_PER_SEC), .tv_nsec = (long)(wait % NS_PER_SEC)};
    if (wait)
        nanosleep(&t, NULL);
}

void client_end_child(struct parser *p)
{
    int left = -1;
    u64 used = child_kill(&p->child, &left);
    if (left >= 0 && p->hung)
        hung_keep_child(p->hung, left);
    else
        xp_cleanup_close(&left);
    __atomic_add_fetch(&p->ended_ns, used, __ATOMIC_SEQ_CST);
    __atomic_store_n(&p->pid, 0, __ATOMIC_SEQ_CST);
}

/* What has ended is added before the child is gone from `pid`: who sees the same sum before and after has counted no
 * child twice, and who has missed one that is just ending reports the most that was known of it. */
u64 parser_cpu_ns(struct parser *p)
{
    u64 ended, now;
    do {
        struct timespec t = {0};
        clockid_t clock;
        ended = __atomic_load_n(&p->ended_ns, __ATOMIC_SEQ_CST);
        pid_t pid = parser_pid(p);
        if (pid && !clock_getcpuclockid(pid, &clock))
            clock_gettime(clock, &t);
        now = ended + (u64)t.tv_sec * NS_PER_SEC + (u64)t.tv_nsec;
    } while (ended != __atomic_load_n(&p->ended_ns, __ATOMIC_SEQ_CST));
    u64 most = __atomic_load_n(&p->most_ns, __ATOMIC_RELAXED);
    while (now > most &&
           !__atomic_compare_exchange_n(&p->most_ns, &most, now, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        ;
    return now > most ? now : most;
}

int client_start(struct parser *p)
{
    char memory[32], timeout[16];
    snprintf(memory, sizeof(memory), "%zu", p->limits.memory);
    snprintf(timeout, sizeof(timeout), "%u", p->limits.timeout_ms);
    const char *argv[] = {"xprof", p->role, "%d", memory, timeout, NULL};
    if (p->lost)
        wait_at_gate(p);
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
    __atomic_store_n(&p->pid, p->child.pid, __ATOMIC_RELAXED);
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
