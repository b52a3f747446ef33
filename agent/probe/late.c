/* The eBPF objects with which a thread takes the stack of its wait when it is back (bpf/late.bpf.h): one for kernels
 * with task work, one for kernels with kprobes. One of them is loaded where that is better than taking stacks as
 * threads leave.
 */
#include "base/cleanup.h"
#include "probe/object.h"
#include "probe/object_options.h"
#include "probe/probe_internal.h"
#include "finish.skel.h"
#include "resume.skel.h"
#include "resume_impl.skel.h"
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FUNCTION    "finish_task_switch"
#define TASK_WORK   "bpf_task_work_schedule_resume"
#define KPROBE_TYPE "/sys/bus/event_source/devices/kprobe/type"
#define SHORT_NS    1000 /* with a shorter limit, all waits are long: none comes unexpectedly */

struct late {
    struct resume_bpf *resume; /* one of these three */
    struct resume_impl_bpf *resume_impl;
    struct finish_bpf *finish;
    struct bpf_link *link;
    u64 map_bytes;
};

/* ---- What this kernel has ---- */

static bool has_function(const char *name)
{
    return object_kernel_has(name, BTF_KIND_FUNC);
}

/* Compilers append what they did to a function: ".isra.0". Parts of it that they moved elsewhere (".cold") are no
 * function. */
static bool is_function(const char *name)
{
    size_t len = strlen(FUNCTION);
    return !strncmp(name, FUNCTION, len) && (!name[len] || name[len] == '.') && !strstr(name, ".cold");
}

/* Finds the symbol of the function. Returns 0; -ENOENT. */
static int find_function(char *name, size_t len)
{
    char line[512];
    AUTO_FCLOSE FILE *f = fopen("/proc/kallsyms", "re");
    while (f && fgets(line, sizeof(line), f)) {
        char *at = strrchr(line, ' '); /* of a module, the last word is the module's name */
        if (!at++)
            continue;
        at[strcspn(at, "\n")] = 0;
        if (is_function(at)) {
            snprintf(name, len, "%s", at);
            return 0;
        }
    }
    return -ENOENT;
}

bool probe_can_take(enum probe_wait_stacks means)
{
    char name[128];
    if (means == PROBE_STACKS_TASK_WORK)
        return has_function(TASK_WORK) || has_function(TASK_WORK "_impl");
    return means != PROBE_STACKS_FINISH || (!access(KPROBE_TYPE, R_OK) && !find_function(name, sizeof(name)));
}

enum probe_wait_stacks late_means(const struct probe *p)
{
    enum probe_wait_stacks means = p->config.wait_stacks;
    if (!p->config.user)
        return PROBE_STACKS_SWITCH;
    if (means != PROBE_STACKS_AUTO)
        return means;
    if (p->config.wait_min_ns <= SHORT_NS)
        return PROBE_STACKS_SWITCH;
    static const enum probe_wait_stacks best[] = {PROBE_STACKS_TASK_WORK, PROBE_STACKS_FINISH, PROBE_STACKS_SWITCH};
    size_t i = 0;
    while (!probe_can_take(best[i])) /* the last one is everywhere */
        i++;
    return best[i];
}

void late_configure(const struct probe *p, enum probe_wait_stacks means, struct xp_config *c)
{
    u32 late = p->config.wait_stacks == PROBE_STACKS_AUTO ? XP_LATE_SOME : XP_LATE_ALL;
    c->late_work = means == PROBE_STACKS_TASK_WORK;
    c->late = means == PROBE_STACKS_SWITCH ? XP_LATE_NO : late;
}

/* ---- Loading ---- */

struct part {
    struct object_apart apart;
    struct bpf_program *program;
};

static int open_part(struct late *l, const struct xp_config *config, struct part *out)
{
    if (!config->late_work) {
        l->finish = finish_bpf__open_opts(object_options());
        if (l->finish)
            *out = (struct part){OBJECT_APART(l->finish), l->finish->progs.xp_on_finish};
    } else if (has_function(TASK_WORK)) {
        l->resume = resume_bpf__open_opts(object_options());
        if (l->resume)
            *out = (struct part){OBJECT_APART(l->resume), l->resume->progs.xp_resume_later};
    } else {
        l->resume_impl = resume_impl_bpf__open_opts(object_options());
        if (l->resume_impl)
            *out = (struct part){OBJECT_APART(l->resume_impl), l->resume_impl->progs.xp_resume_later};
    }
    return out->program ? 0 : -errno;
}

static int attach_part(struct late *l, const struct part *part, bool work, int calls)
{
    char name[128];
    u32 zero = 0;
    int fd = bpf_program__fd(part->program);
    if (work)
        return bpf_map_update_elem(calls, &zero, &fd, BPF_ANY) ? -errno : 0;
    int rc = find_function(name, sizeof(name));
    if (rc)
        return rc;
    l->link = bpf_program__attach_kprobe(part->program, true, name);
    return l->link ? 0 : -errno;
}

int late_start(struct late **out, const struct probe *p, const struct xp_config *config,
               struct bpf_object *const *others, int calls)
{
    struct part part = {0};
    CLEANUP(late_free) struct late *l = config->late ? calloc(1, sizeof(*l)) : NULL;
    if (!l)
        return config->late ? -ENOMEM : 0;
    int rc = open_part(l, config, &part);
    if (!rc)
        rc = object_load_apart(&part.apart, p, config, others);
    if (!rc)
        rc = attach_part(l, &part, config->late_work, calls);
    if (rc)
        return rc;
    l->map_bytes = object_apart_bytes(&part.apart);
    *out = TAKE_PTR(l);
    return 0;
}

void late_free(struct late **ll)
{
    struct late *l = *ll;
    if (!l)
        return;
    bpf_link__destroy(l->link);
    resume_bpf__destroy(l->resume);
    resume_impl_bpf__destroy(l->resume_impl);
    finish_bpf__destroy(l->finish);
    free(l);
    *ll = NULL;
}

u64 late_map_bytes(const struct late *l)
{
    return l ? l->map_bytes : 0;
}
