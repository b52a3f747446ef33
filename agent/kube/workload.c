#include "kube/workload.h"
#include "bpf/types.h"
#include <string.h>

/* Minutes since 1970 in 2015 and 2060: a date such as 20260131 lies before them and is no time. */
#define MINUTE_MIN 23667840ull
#define MINUTE_MAX 47335680ull

static struct workload whole(const char *kind, const char *name)
{
    return (struct workload){kind, name, strlen(name)};
}

/* Length of `name` without "-SUFFIX"; 0 when it does not end so. */
static size_t without_suffix(const char *name, size_t len, const char *suffix)
{
    size_t n = suffix ? strlen(suffix) : 0;
    if (!n || len < n + 2 || memcmp(name + len - n, suffix, n) || name[len - n - 1] != '-')
        return 0;
    return len - n - 1;
}

/* Length of `name` without its last "-part"; 0 when there is none. */
static size_t without_last(const char *name)
{
    const char *dash = strrchr(name, '-');
    return dash && dash[1] ? (size_t)(dash - name) : 0;
}

static bool is_time(const char *digits)
{
    u64 v = 0;
    size_t n = strspn(digits, "0123456789");
    if (digits[n] || n < 8 || n > 10)
        return false;
    for (size_t i = 0; i < n; i++)
        v = v * 10 + (u64)(digits[i] - '0');
    v = n == 10 ? v / 60 : v;
    return v >= MINUTE_MIN && v < MINUTE_MAX;
}

static struct workload of_job(const char *name)
{
    size_t n = without_last(name);
    if (n && is_time(name + n + 1))
        return (struct workload){"CronJob", name, n};
    return whole("Job", name);
}

struct workload workload_of_owner(const char *kind, const char *name, const struct kube_pairs *labels)
{
    if (!strcmp(kind, "Job"))
        return of_job(name);
    size_t n = without_suffix(name, strlen(name), kube_pairs_get(labels, "pod-template-hash"));
    if (!strcmp(kind, "ReplicaSet") && n)
        return (struct workload){"Deployment", name, n};
    return whole(kind, name);
}

struct workload workload_of_labels(const char *pod, const struct kube_pairs *labels)
{
    const char *job = kube_pairs_get(labels, "batch.kubernetes.io/job-name");
    job = job ? job : kube_pairs_get(labels, "job-name");
    if (job)
        return of_job(job);
    size_t n = without_last(pod);
    size_t deployment = without_suffix(pod, n, kube_pairs_get(labels, "pod-template-hash"));
    if (deployment)
        return (struct workload){"Deployment", pod, deployment};
    const char *of_set = kube_pairs_get(labels, "statefulset.kubernetes.io/pod-name");
    if (n && of_set && !strcmp(of_set, pod))
        return (struct workload){"StatefulSet", pod, n};
    if (n && kube_pairs_get(labels, "pod-template-generation") && kube_pairs_get(labels, "controller-revision-hash"))
        return (struct workload){"DaemonSet", pod, n};
    return whole("", "");
}
