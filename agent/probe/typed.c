#include "probe/typed.h"
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

static const struct typed types = {.type = {{BTF_KIND_FUNC, 0, "bpf_iter_task_vma"},
                                            {BTF_KIND_TYPEDEF, 0, "btf_trace_sched_process_fork"},
                                            {BTF_KIND_TYPEDEF, 0, "btf_trace_sched_process_free"},
                                            {BTF_KIND_TYPEDEF, 0, "btf_trace_cgroup_mkdir"},
                                            {BTF_KIND_TYPEDEF, 0, "btf_trace_cgroup_rmdir"}}};

/* Only now the program gets its real type, by which libbpf would see that it needs all types. The section is TYPE/NAME,
 * and the name of what it is attached to ends in that. */
static int prepare(struct bpf_program *prog, struct bpf_prog_load_opts *opts, long cookie)
{
    const struct typed *t = (const void *)cookie;
    const char *section = bpf_program__section_name(prog), *name = strchr(section, '/') + 1;
    size_t prefix = strlen(opts->expected_attach_type == BPF_TRACE_ITER ? "bpf_iter_" : "btf_trace_");
    for (size_t i = 0; i < TYPED_MAX; i++)
        if (t->type[i].number && !strcmp(t->type[i].name + prefix, name)) {
            opts->attach_btf_id = t->type[i].number;
            return bpf_program__set_type(prog, BPF_PROG_TYPE_TRACING);
        }
    return -ENOENT;
}

/* The list of handlers is the process's. Until libbpf 1.2, it is used again after it was freed when the last one is
 * taken out of it, so that one stays. */
static int keep_one(void)
{
    static bool kept;
    int rc = kept ? 0 : libbpf_register_prog_handler("typed_none+", BPF_PROG_TYPE_UNSPEC, BPF_TRACE_RAW_TP, NULL);
    kept |= rc >= 0;
    return rc < 0 ? rc : 0;
}

int typed_begin(struct typed *t)
{
    int rc = keep_one();
    const struct libbpf_prog_handler_opts how = {.sz = sizeof(how), .cookie = (long)t, .prog_prepare_load_fn = prepare};
    *t = types;
    if (rc)
        return rc;
    int points = libbpf_register_prog_handler("typed_tp+", BPF_PROG_TYPE_RAW_TRACEPOINT, BPF_TRACE_RAW_TP, &how);
    if (points < 0)
        return points;
    t->handlers[0] = points + 1;
    int iterators = libbpf_register_prog_handler("typed_iter+", BPF_PROG_TYPE_RAW_TRACEPOINT, BPF_TRACE_ITER, &how);
    t->handlers[1] = iterators < 0 ? 0 : iterators + 1;
    return iterators < 0 ? iterators : 0;
}

void typed_end(struct typed *t)
{
    for (size_t i = 0; i < 2; i++)
        if (t->handlers[i])
            libbpf_unregister_prog_handler(t->handlers[i] - 1);
    *t = (struct typed){0};
}
