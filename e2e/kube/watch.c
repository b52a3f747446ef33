/* Watches the pods of a node as the agent does, and says what it hears, a line each, for the tests of agent/kube:
 *   watch NODE URL CA_FILE TOKEN_FILE [kubelet]
 *
 *   pod NAMESPACE/NAME UID RUNTIME_UID CONTAINERS WORKLOAD     new or changed
 *   wants NAMESPACE/NAME TYPES REASON              what is wanted of it, when that changed ("-": nothing)
 *   warn NAMESPACE/NAME TEXT                       what its annotations say badly
 *   gone UID, ns NAME, ns-gone NAME, synced pods|namespaces, problem TEXT
 *
 * With POST_EVENTS it also writes what is said badly as an event of the pod: "posted RESULT".
 * SIGUSR1 writes a line of counters. Milliseconds for the pauses come from RETRY_MS, RETRY_MAX_MS, POLL_MS, FORGET_MS,
 * seconds of a watch from WATCH_SECONDS, objects of a page from PAGE.
 */
#include "base/buf.h"
#include "base/vec.h"
#include "kube/kube.h"
#include "kube/policy.h"
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct entry {
    struct kube_pod *pod;
    struct wants wants;
};
struct state {
    pthread_mutex_t lock;
    VEC(struct entry) pods;
    VEC(struct kube_namespace *) namespaces;
    struct kube *kube;
    volatile bool stop;
};

static const struct policy_type types[] = {
    {"cpu", true, true, NULL, true}, {"offcpu", true, false, NULL, false}, {"memory", false, false, NULL, false}};
static const struct policy policy = {.rate_min = 1, .rate_max = 997, .types = types, .ntypes = 3};

static void print_types(u32 events)
{
    printf("%s", events ? "" : "-");
    for (size_t i = 0; i < policy.ntypes; i++)
        if (events & 1u << i)
            printf("%s%s", events & ((1u << i) - 1) ? "," : "", types[i].name);
}

static struct kube_namespace *find_namespace(struct state *s, const char *name)
{
    for (size_t i = 0; i < s->namespaces.n; i++)
        if (!strcmp(s->namespaces.v[i]->name, name))
            return s->namespaces.v[i];
    return NULL;
}

static void decide(struct state *s, struct entry *e, bool fresh)
{
    struct kube_namespace *ns = find_namespace(s, e->pod->namespace);
    struct policy_facts f = {e->pod->namespace, &e->pod->annotations, &e->pod->labels, ns ? &ns->annotations : NULL,
                             ns ? &ns->labels : NULL};
    struct wants w;
    policy_decide(&w, &policy, &f);
    bool changed = fresh || w.events != e->wants.events || strcmp(w.reason, e->wants.reason) != 0;
    e->wants = w;
    if (!changed)
        return;
    printf("wants %s/%s ", e->pod->namespace, e->pod->name);
    print_types(w.events);
    printf(" %s\n", w.reason);
    for (size_t i = 0; i < w.nwarnings; i++) {
        printf("warn %s/%s %s\n", e->pod->namespace, e->pod->name, w.warnings[i]);
        if (getenv("POST_EVENTS"))
            printf("posted %d\n", kube_post_event(s->kube, e->pod, "BadAnnotation", w.warnings[i]));
    }
}

static void on_pod(void *ctx, struct kube_pod *pod)
{
    struct state *s = ctx;
    pthread_mutex_lock(&s->lock);
    struct entry *e = NULL;
    for (size_t i = 0; i < s->pods.n; i++)
        if (!strcmp(s->pods.v[i].pod->uid, pod->uid))
            e = &s->pods.v[i];
    bool fresh = !e;
    if (fresh && (e = VEC_PUSH(&s->pods)))
        *e = (struct entry){0};
    else
        kube_pod_free(&e->pod);
    e->pod = pod;
    printf("pod %s/%s %s %s ", pod->namespace, pod->name, pod->uid, pod->runtime_uid);
    for (size_t i = 0; i < pod->ncontainers; i++)
        printf("%s%s=%s", i ? "," : "", pod->containers[i].name, pod->containers[i].id);
    printf(" %s/%s\n", pod->workload_kind, pod->workload_name);
    decide(s, e, fresh);
    pthread_mutex_unlock(&s->lock);
}

static void on_pod_gone(void *ctx, const char *uid)
{
    struct state *s = ctx;
    pthread_mutex_lock(&s->lock);
    for (size_t i = 0; i < s->pods.n; i++)
        if (!strcmp(s->pods.v[i].pod->uid, uid)) {
            kube_pod_free(&s->pods.v[i].pod);
            s->pods.v[i] = s->pods.v[--s->pods.n];
        }
    printf("gone %s\n", uid);
    pthread_mutex_unlock(&s->lock);
}

static void drop_namespace(struct state *s, const char *name)
{
    for (size_t i = 0; i < s->namespaces.n; i++)
        if (!strcmp(s->namespaces.v[i]->name, name)) {
            kube_namespace_free(&s->namespaces.v[i]);
            s->namespaces.v[i] = s->namespaces.v[--s->namespaces.n];
        }
}

static void decide_all(struct state *s)
{
    for (size_t i = 0; i < s->pods.n; i++)
        decide(s, &s->pods.v[i], false);
}

static void on_namespace(void *ctx, struct kube_namespace *ns)
{
    struct state *s = ctx;
    pthread_mutex_lock(&s->lock);
    drop_namespace(s, ns->name);
    struct kube_namespace **slot = VEC_PUSH(&s->namespaces);
    if (slot)
        *slot = ns;
    printf("ns %s\n", ns->name);
    decide_all(s);
    pthread_mutex_unlock(&s->lock);
}

static void on_namespace_gone(void *ctx, const char *name)
{
    struct state *s = ctx;
    pthread_mutex_lock(&s->lock);
    drop_namespace(s, name);
    printf("ns-gone %s\n", name);
    decide_all(s);
    pthread_mutex_unlock(&s->lock);
}

static void on_synced(void *ctx, bool namespaces)
{
    printf("synced %s\n", namespaces ? "namespaces" : "pods");
}

static void on_warn(void *ctx, const char *text)
{
    printf("problem %s\n", text);
}

static void *run_namespaces(void *ctx)
{
    struct state *s = ctx;
    kube_run_namespaces(s->kube, &s->stop);
    return NULL;
}

static void *run_pods(void *ctx)
{
    struct state *s = ctx;
    kube_run(s->kube, &s->stop);
    return NULL;
}

static void print_stats(struct state *s)
{
    struct kube_stats k;
    kube_stats(s->kube, &k);
    pthread_mutex_lock(&s->lock);
    printf(
        "stats pods=%zu added=%llu modified=%llu deleted=%llu bookmarks=%llu lists=%llu watches=%llu listed=%llu "
        "oversize=%llu skipped=%llu left_out=%llu refused=%llu",
        s->pods.n, (unsigned long long)k.added, (unsigned long long)k.modified, (unsigned long long)k.deleted,
        (unsigned long long)k.bookmarks, (unsigned long long)k.lists, (unsigned long long)k.watches,
        (unsigned long long)k.listed, (unsigned long long)k.oversize, (unsigned long long)k.malformed,
        (unsigned long long)k.left_out, (unsigned long long)k.refused);
    for (int e = 0; e < KUBE_ERROR_MAX; e++)
        printf(" %s=%llu", kube_error_name(e), (unsigned long long)k.errors[e]);
    printf("\n");
    pthread_mutex_unlock(&s->lock);
}

static unsigned number(const char *name)
{
    const char *text = getenv(name);
    return text ? (unsigned)strtoul(text, NULL, 10) : 0;
}

int main(int argc, char **argv)
{
    struct state s = {.lock = PTHREAD_MUTEX_INITIALIZER};
    sigset_t signals;
    pthread_t pods, namespaces;
    int signal_number = 0;
    if (argc < 5) {
        fprintf(stderr, "watch NODE URL CA_FILE TOKEN_FILE [kubelet]\n");
        return 2;
    }
    struct kube_config c = {.source = argc > 5 ? KUBE_KUBELET : KUBE_API,
                            .node = argv[1],
                            .url = argv[2],
                            .ca_file = *argv[3] ? argv[3] : NULL,
                            .insecure_skip_verify = !*argv[3],
                            .token_file = argv[4],
                            .poll_ms = number("POLL_MS"),
                            .forget_ms = number("FORGET_MS"),
                            .page = number("PAGE"),
                            .watch_seconds = number("WATCH_SECONDS"),
                            .retry_ms = number("RETRY_MS"),
                            .retry_max_ms = number("RETRY_MAX_MS")};
    struct kube_handlers h = {&s, on_pod, on_pod_gone, on_namespace, on_namespace_gone, on_synced, on_warn};
    setvbuf(stdout, NULL, _IOLBF, 0);
    sigemptyset(&signals);
    sigaddset(&signals, SIGUSR1);
    sigaddset(&signals, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &signals, NULL);
    if (kube_new(&s.kube, &c, &h) || pthread_create(&pods, NULL, run_pods, &s) ||
        pthread_create(&namespaces, NULL, run_namespaces, &s))
        return 1;
    while (!sigwait(&signals, &signal_number) && signal_number == SIGUSR1)
        print_stats(&s);
    s.stop = true;
    pthread_join(pods, NULL);
    pthread_join(namespaces, NULL);
    print_stats(&s);
    while (s.pods.n)
        kube_pod_free(&s.pods.v[--s.pods.n].pod);
    while (s.namespaces.n)
        kube_namespace_free(&s.namespaces.v[--s.namespaces.n]);
    vec_free(&s.pods);
    vec_free(&s.namespaces);
    kube_free(&s.kube);
    printf("end\n");
    return 0;
}
