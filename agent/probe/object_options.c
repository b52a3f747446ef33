#include "probe/object_options.h"
#include <unistd.h>

#define KERNEL_TYPES "/sys/kernel/btf/vmlinux"

const struct bpf_object_open_opts *object_options(void)
{
    static const struct bpf_object_open_opts options = {.sz = sizeof(options), .btf_custom_path = KERNEL_TYPES};
    return access(KERNEL_TYPES, R_OK) ? NULL : &options; /* libbpf knows other places, too */
}
