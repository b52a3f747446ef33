#include "probe/address.h"
#include "bpf/address.h"
#include "address.skel.h"
#include "base/cleanup.h"
#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct address_namer {
    struct address_bpf *skel;
    int fd;
};

int address_namer_new(struct address_namer **out)
{
    CLEANUP(address_namer_free) struct address_namer *a = calloc(1, sizeof(*a));
    if (!a)
        return -ENOMEM;
    libbpf_print_fn_t print = libbpf_set_print(NULL); /* who asks has another way, too */
    a->skel = address_bpf__open();
    int rc = a->skel ? address_bpf__load(a->skel) : -errno;
    libbpf_set_print(print);
    if (rc)
        return rc;
    a->fd = bpf_program__fd(a->skel->progs.xp_name_address);
    *out = TAKE_PTR(a);
    return 0;
}

void address_namer_free(struct address_namer **a)
{
    if (!*a)
        return;
    address_bpf__destroy((*a)->skel);
    free(TAKE_PTR(*a));
}

int address_namer_find(struct address_namer *a, u64 address, char *text, size_t len)
{
    LIBBPF_OPTS(bpf_test_run_opts, opts);
    struct xp_address *shared = &a->skel->bss->xp_address;
    shared->address = address;
    int rc = bpf_prog_test_run_opts(a->fd, &opts);
    if (rc)
        return rc;
    if (!shared->len || shared->len > sizeof(shared->text) || shared->len > len)
        return -ENOSPC;
    memcpy(text, shared->text, shared->len);
    return 0;
}
