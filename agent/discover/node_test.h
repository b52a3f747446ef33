/* A discovery whose runtime, kernel side and Kubernetes the test plays. A question to its thread is answered behind
 * everything that was said before it.
 */
#pragma once
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/test.h"
#include "discover/discover_internal.h"
#include <unistd.h>

#define UID "11111111-2222-3333-4444-555555555555"
#define POD "/kubepods/burstable/pod" UID
#define HEX "0123456789abcdef0123456789abcdef0123456789abcdef0123456789ab"
#define C1  HEX "0001"
#define C2  HEX "0002"

#define C3 HEX "0003"

enum { GROUPS = 32, NO_WANT = 0xffffffff };

struct node {
    struct hierarchy hierarchy;
    struct container_source source;
    struct publisher *publisher;
    struct discover *d;
    int released;       /* rules */
    bool two_sandboxes; /* the runtime lists C3, too, of the same pod; before the start */
};

/* Not started yet. Only with DISCOVER_BY_CRI is there a runtime: with one pod, its sandbox C2 and its container C1.
 * Kubernetes without its threads is played by the test. */
int node_new(struct node *n, enum discover_kube source, enum policy_targeting targeting);
int node_start(struct node *n);
void node_free(struct node *n);
#define AUTO_NODE CLEANUP(node_free) struct node

/* Two events, or those that pods ask for. */
struct discover_rules node_rules(struct node *n, enum policy_targeting targeting, unsigned rate);
void node_reload(struct node *n, struct discover_rules rules);
struct discover_stats node_stats(struct node *n);
/* An event of the kernel side; group 0 <= id < GROUPS. */
void node_group(struct node *n, u64 id, const char *path, bool made);
/* Is that part of the page of targets? */
bool node_says(struct node *n, const char *text);

/* The kernel side: the want of a group; NO_WANT: none of its own. The rate that was set last. */
u32 kernel_want(u64 cgroup);
u32 kernel_events(u64 cgroup);
unsigned kernel_rate(void);
/* It has no room for so many wants. */
void kernel_refuse(int wants);

#define WAIT(condition)                                                               \
    for (u64 until_ = now_ns() + 10 * NS_PER_SEC; !(condition) && now_ns() < until_;) \
    usleep(2000)
