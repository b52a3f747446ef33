/* What the registry of containers sees, for tests and for the curious: no eBPF, scans only.
 *
 *     cri-ps [--cgroup-root DIR] [--host-root DIR] [--socket PATH|none] [--timeout MS] [--rescan MS]
 *
 * Each line on stdin is answered: "ps" by a line per container, pod and unit; "stats" by the counters; "learn CGROUP
 * PID" is what a sample of an unknown cgroup does. All end with a line ".". In between it ticks as the agent does.
 */
#include "base/clock.h"
#include "container/containers.h"
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool print_one(void *ctx, const struct container *c)
{
    static const char *const kinds[] = {"none", "container", "pod", "unit"},
                             *const states[] = {"new", "known", "ended"},
                             *const told[] = {"nothing", "file", "runtime"};
    const char *wants = container_pair(&c->pod_annotations, "xprof.io/profile");
    char root[64];
    snprintf(root, sizeof(root), "/proc/%u/root/bin/busybox", c->init_pid);
    printf(
        "%s cgroup=%llu id=%s uid=%s unit=%s runtime=%s state=%s told=%s sandbox=%d name=%s pod=%s namespace=%s "
        "image=%s profile=%s init=%u start=%llu pidns=%d busybox=%d\n",
        kinds[c->is.kind], (unsigned long long)c->cgroup, c->is.id, c->is.pod, c->is.unit,
        container_runtime_name(c->is.runtime), states[c->state], told[c->told], c->sandbox, c->name, c->pod,
        c->namespace_, c->image, wants ? wants : "", c->init_pid, (unsigned long long)c->init_start, c->pid_ns != 0,
        !access(root, F_OK));
    return true;
}

static void print_stats(const struct containers *c, const struct hierarchy *h)
{
    struct containers_stats s;
    containers_stats(c, &s);
    printf("mode=%s unified=%d controller=%s number=%u whole=%d mount=%s\n", hierarchy_mode_name(h->mode), h->unified,
           h->controller, h->number, h->whole, h->mount);
    printf("containers=%llu pods=%llu units=%llu ended=%llu unnamed=%llu rescans=%llu found_late=%llu lost_late=%llu\n",
           (unsigned long long)s.containers, (unsigned long long)s.pods, (unsigned long long)s.units,
           (unsigned long long)s.ended, (unsigned long long)s.unnamed, (unsigned long long)s.rescans,
           (unsigned long long)s.found_late, (unsigned long long)s.lost_late);
    printf("timeouts=%llu unreachable=%llu unsupported=%llu malformed=%llu failed=%llu answered=%d\n",
           (unsigned long long)s.timeouts, (unsigned long long)s.unreachable, (unsigned long long)s.unsupported,
           (unsigned long long)s.malformed, (unsigned long long)s.failed, s.last_ok_ns != 0);
    printf("by_file=%llu given_up=%llu runtime=%s\nwhy=%s\n", (unsigned long long)s.by_file,
           (unsigned long long)s.given_up, s.runtime, s.why);
}

/* False at the end of stdin. */
static bool answer(struct containers *c, const struct hierarchy *h)
{
    unsigned long long cgroup;
    unsigned pid;
    char line[64];
    if (!fgets(line, sizeof(line), stdin))
        return false;
    if (!strcmp(line, "ps\n"))
        containers_all(c, print_one, NULL);
    else if (sscanf(line, "learn %llu %u", &cgroup, &pid) == 2)
        containers_learn(c, cgroup, pid, now_ns());
    else
        print_stats(c, h);
    puts(".");
    fflush(stdout);
    return true;
}

static const char *option(int argc, char **argv, const char *name, const char *otherwise)
{
    for (int i = 1; i + 1 < argc; i += 2)
        if (!strcmp(argv[i], name))
            return argv[i + 1];
    return otherwise;
}

int main(int argc, char **argv)
{
    struct containers *c = NULL;
    struct containers_config config = {
        .host_root = option(argc, argv, "--host-root", NULL),
        .cri_socket = option(argc, argv, "--socket", NULL),
        .cri_timeout_ms = (unsigned)strtoul(option(argc, argv, "--timeout", "0"), NULL, 10),
        .rescan_ns = strtoull(option(argc, argv, "--rescan", "0"), NULL, 10) * 1000000,
    };
    struct containers_handlers handlers = {0};
    int rc = hierarchy_find(&config.hierarchy, option(argc, argv, "--cgroup-root", NULL));
    if (!rc)
        rc = containers_new(&c, &config, &handlers);
    if (rc) {
        fprintf(stderr, "cri-ps: %s\n", strerror(-rc));
        return 1;
    }
    for (bool more = true; more;) {
        struct pollfd p = {.fd = STDIN_FILENO, .events = POLLIN};
        if (poll(&p, 1, 100) > 0)
            more = answer(c, &config.hierarchy);
        containers_tick(c, now_ns());
    }
    containers_free(&c);
    return 0;
}
