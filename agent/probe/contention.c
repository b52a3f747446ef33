/* The eBPF object that sees waits for locks of the kernel (bpf/contention.bpf.c): loaded and attached only while
 * somebody wants the event lock, because it costs each contended lock of the machine something.
 */
#include "base/cleanup.h"
#include "probe/object.h"
#include "probe/object_options.h"
#include "probe/probe_internal.h"
#include "contention.skel.h"
#include <bpf/btf.h>
#include <errno.h>
#include <stdlib.h>

struct contention {
    struct contention_bpf *skel;
    struct bpf_link *on_begin, *on_end;
};

int contention_start(struct contention **out, const struct probe *p, const struct xp_config *config,
                     struct bpf_object *const *others)
{
    CLEANUP(contention_free) struct contention *c = calloc(1, sizeof(*c));
    if (!c)
        return -ENOMEM;
    if (!object_kernel_has("btf_trace_contention_begin", BTF_KIND_TYPEDEF)) /* Linux 5.19 */
        return -ENOTSUP;
    c->skel = contention_bpf__open_opts(object_options());
    int rc = c->skel ? object_load_apart(&OBJECT_APART(c->skel), p, config, others) : -errno;
    if (rc)
        return rc;
    c->on_end = bpf_program__attach(c->skel->progs.xp_on_contended); /* first: whatever begins ends */
    c->on_begin = c->on_end ? bpf_program__attach(c->skel->progs.xp_on_contention) : NULL;
    if (!c->on_begin)
        return -errno;
    *out = TAKE_PTR(c);
    return 0;
}

void contention_free(struct contention **cc)
{
    struct contention *c = *cc;
    if (!c)
        return;
    bpf_link__destroy(c->on_begin);
    bpf_link__destroy(c->on_end);
    contention_bpf__destroy(c->skel);
    free(c);
    *cc = NULL;
}

struct bpf_object *contention_object(const struct contention *c)
{
    return c ? c->skel->obj : NULL;
}

u64 contention_map_bytes(const struct contention *c)
{
    return c ? object_apart_bytes(&OBJECT_APART(c->skel)) + probe_map_memlock(bpf_map__fd(c->skel->maps.contentions))
             : 0;
}
