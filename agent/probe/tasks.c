#include "probe/tasks.h"
#include "base/cleanup.h"
#include "probe/denied.h"
#include "probe/probe_internal.h"
#include "tasks.skel.h"
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#define BATCH 16 /* threads a read brings */

struct tasks {
    struct tasks_bpf *skel;
    struct bpf_link *link;
    u32 tgid;
};

static int load(struct tasks *t, char *why, size_t len)
{
    libbpf_set_print(NULL); /* what it would say is said below, or is no trouble */
    t->skel = tasks_bpf__open();
    if (!t->skel)
        return probe_why(-errno, why, len, "no memory for an eBPF program");
    t->skel->rodata->xp_tgid = t->tgid;
    int rc = tasks_bpf__load(t->skel);
    if (rc)
        return denied_explains(rc, DENIED_BPF, why, len)
                   ? rc
                   : probe_why(rc, why, len, "the kernel rejected the eBPF program that lists threads (%s)",
                               denied_rejection(rc));
    union bpf_iter_link_info info = {.task.pid = t->tgid};
    LIBBPF_OPTS(bpf_iter_attach_opts, opts, .link_info = &info, .link_info_len = sizeof(info));
    t->link = bpf_program__attach_iter(t->skel->progs.xp_list_tasks, &opts);
    if (!t->link) /* no such parameter before 6.1: the program itself looks who it is */
        t->link = bpf_program__attach_iter(t->skel->progs.xp_list_tasks, NULL);
    return t->link ? 0 : probe_why(-errno, why, len, "cannot list threads: %s", strerror(errno));
}

int tasks_new(struct tasks **out, u32 tgid, char *why, size_t why_len)
{
    struct tasks *t = calloc(1, sizeof(*t));
    if (!t)
        return -ENOMEM;
    t->tgid = tgid;
    int rc = load(t, why, why_len);
    if (rc)
        tasks_free(&t);
    else
        *out = t;
    return rc;
}

void tasks_free(struct tasks **t)
{
    if (!*t)
        return;
    bpf_link__destroy((*t)->link);
    tasks_bpf__destroy((*t)->skel);
    free(TAKE_PTR(*t));
}

int tasks_list(struct tasks *t, task_list *out)
{
    AUTO_CLOSE int fd = bpf_iter_create(bpf_link__fd(t->link));
    AUTO_FREE struct xp_task *batch = calloc(BATCH, sizeof(*batch));
    ssize_t n = 1;
    if (fd < 0)
        return -errno;
    if (!batch)
        return -ENOMEM;
    out->n = 0;
    while ((n = read(fd, batch, BATCH * sizeof(*batch))) > 0)
        for (size_t i = 0; i < (size_t)n / sizeof(*batch); i++) {
            struct xp_task *place = VEC_PUSH(out);
            if (!place)
                return -ENOMEM;
            *place = batch[i];
        }
    return n < 0 ? -errno : 0;
}

/* The same order as in bpf/arch_x86.bpf.h: DWARF numbers out of struct pt_regs. */
bool tasks_regs(const struct xp_task *task, struct xp_regs *out)
{
    static const u8 place[17] = {10, 12, 11, 5, 13, 14, 4, 19, 9, 8, 7, 6, 3, 2, 1, 0, 16};
    if ((task->pt[17] & 0xffff) != 0x33) /* __USER_CS */
        return false;
    for (size_t i = 0; i < sizeof(place); i++)
        out->r[i] = task->pt[place[i]];
    return true;
}
