/* A discovery whose runtime, kernel side and Kubernetes are simulated by the test. Its thread answers a query after all
 * earlier messages.
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

enum { GROUPS = 32, NO_WANT = 0xffffffff }; /* NO_WANT: no want has all events and no rate */

struct node {
    struct hierarchy hierarchy;
    struct container_source source;
    struct publisher *publisher;
    struct discover *d;
    int released;       /* rules */
    bool two_sandboxes; /* the runtime also lists C3 of the same pod; set it before the start */
};

/* Creates a node that is not started yet. Only DISCOVER_BY_CRI has a runtime, which lists one pod with sandbox C2 and
 * container C1. The test simulates Kubernetes, without its threads. */
int node_new(struct node *n, enum discover_kube source, enum policy_targeting targeting);
int node_start(struct node *n);
void node_free(struct node *n);
#define AUTO_NODE CLEANUP(node_free) struct node

/* Two events by default, or those that pods request. */
struct discover_rules node_rules(struct node *n, enum policy_targeting targeting, unsigned rate);
void node_reload(struct node *n, struct discover_rules rules);
struct discover_stats node_stats(struct node *n);
/* An event of the kernel side; group 0 <= id < GROUPS. */
void node_group(struct node *n, u64 id, const char *path, bool made);
/* Tells whether the page of targets contains the text. */
bool node_says(struct node *n, const char *text);

/* The kernel side: the want of a cgroup (NO_WANT: none of its own), and the last rate that was set. */
u64 kernel_want(u64 cgroup);
u32 kernel_events(u64 cgroup);
unsigned kernel_rate(void);
/* Makes the kernel side refuse this many wants. */
void kernel_refuse(int wants);

#define WAIT(condition)                                                               \
    for (u64 until_ = now_ns() + 10 * NS_PER_SEC; !(condition) && now_ns() < until_;) \
    usleep(2000)
