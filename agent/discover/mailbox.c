/* What arrives from other threads: all of it becomes messages to the one that decides. Cgroups that find no place are
 * found again by a re-scan; what Kubernetes says is said once, so its threads wait for a place.
 */
#include "discover/discover_internal.h"
#include "base/stop.h"
#include "base/cleanup.h"
#include "base/log.h"
#include <errno.h>
#include <string.h>
#include <unistd.h>

#define WAIT_US 20000 /* between two looks for a place */

void message_free(struct message *m)
{
    switch (m->kind) {
    case MESSAGE_POD:
        kube_pod_free(&m->pod);
        break;
    case MESSAGE_NAMESPACE:
        kube_namespace_free(&m->ns);
        break;
    case MESSAGE_QUERY:
        query_drop(m->ask);
        break;
    case MESSAGE_RULES:
    case MESSAGE_SHARE:
    case MESSAGE_CGROUP:
    case MESSAGE_STRANGER:
    case MESSAGE_POD_GONE:
    case MESSAGE_NAMESPACE_GONE:
    case MESSAGE_SYNCED:
    case MESSAGE_NAMESPACES:
    case MESSAGE_NO_NAMESPACES:
        free(m->data);
        break;
    }
    free(m);
}

/* Takes what the message holds. */
static int post(struct discover *d, struct message m)
{
    struct message *copy = malloc(sizeof(*copy));
    if (copy)
        *copy = m;
    int rc = copy ? queue_put(d->mailbox, copy) : -ENOMEM;
    if (rc) {
        __atomic_fetch_add(&d->mailbox_full, 1, __ATOMIC_RELAXED);
        copy ? message_free(copy) : (void)0;
    }
    return rc;
}

/* For the threads of pods and namespaces: an opt-out that got lost would never be heard of again. */
static void post_surely(struct discover *d, struct message m)
{
    struct message *copy;
    while (!(copy = malloc(sizeof(*copy))))
        usleep(WAIT_US);
    *copy = m;
    while (queue_put(d->mailbox, copy)) {
        if (stop_requested(&d->stop)) {
            message_free(copy);
            return;
        }
        usleep(WAIT_US);
    }
}

void discover_cgroup(struct discover *d, const struct xp_cgroup_event *e)
{
    struct xp_cgroup_event *copy = malloc(sizeof(*copy));
    if (!copy)
        return;
    *copy = *e;
    copy->path[XP_CGROUP_PATH - 1] = 0;
    post(d, (struct message){.kind = MESSAGE_CGROUP, .data = copy});
}

void discover_stranger(void *discover, u64 cgroup, u32 tgid)
{
    struct stranger *s = malloc(sizeof(*s));
    if (!s)
        return;
    *s = (struct stranger){cgroup, tgid};
    post(discover, (struct message){.kind = MESSAGE_STRANGER, .data = s});
}

void discover_rules_free(struct discover_rules **rules)
{
    if (!*rules)
        return;
    if ((*rules)->release)
        (*rules)->release((*rules)->owner);
    free(TAKE_PTR(*rules));
}

void discover_reload(struct discover *d, struct discover_rules **rules)
{
    struct discover_rules *old = __atomic_exchange_n(&d->next_rules, TAKE_PTR(*rules), __ATOMIC_ACQ_REL);
    discover_rules_free(&old);
    post(d, (struct message){.kind = MESSAGE_RULES}); /* wakes it; when there is no place it is awake */
}

void discover_set_share(struct discover *d, unsigned percent)
{
    __atomic_store_n(&d->next_share, percent, __ATOMIC_RELAXED);
    post(d, (struct message){.kind = MESSAGE_SHARE}); /* wakes it, as above */
}

static void on_pod(void *ctx, struct kube_pod *pod)
{
    post_surely(ctx, (struct message){.kind = MESSAGE_POD, .pod = pod});
}

static void on_namespace(void *ctx, struct kube_namespace *ns)
{
    post_surely(ctx, (struct message){.kind = MESSAGE_NAMESPACE, .ns = ns});
}

static void post_text(struct discover *d, enum message_kind kind, const char *text)
{
    char *copy = strdup(text);
    if (copy)
        post_surely(d, (struct message){.kind = kind, .data = copy});
}

static void on_pod_gone(void *ctx, const char *uid)
{
    post_text(ctx, MESSAGE_POD_GONE, uid);
}

static void on_namespace_gone(void *ctx, const char *name)
{
    post_text(ctx, MESSAGE_NAMESPACE_GONE, name);
}

static void on_synced(void *ctx, bool namespaces)
{
    post_surely(ctx, (struct message){.kind = namespaces ? MESSAGE_NAMESPACES : MESSAGE_SYNCED});
}

void mailbox_no_namespaces(struct discover *d)
{
    post_surely(d, (struct message){.kind = MESSAGE_NO_NAMESPACES});
}

static void on_warning(void *ctx, const char *text)
{
    log_warn("%s", text);
}

struct kube_handlers mailbox_handlers(struct discover *d)
{
    return (struct kube_handlers){.ctx = d,
                                  .pod = on_pod,
                                  .pod_gone = on_pod_gone,
                                  .ns = on_namespace,
                                  .ns_gone = on_namespace_gone,
                                  .synced = on_synced,
                                  .warn = on_warning};
}
