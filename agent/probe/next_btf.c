/* Lets objects load that ask for a function which only later kernels have (bpf/preempt.bpf.h).
 *
 * libbpf looks for it in the kernel's type information, and then in that of modules, which takes CAP_SYS_ADMIN. Without
 * that, libbpf before 1.3 gives up the object, though the function is weak: with the capabilities of the chart, on each
 * kernel before 6.10. So this takes the place of its own way to go through the modules: who may not, sees none.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <sys/syscall.h>
#include <unistd.h>

int bpf_btf_get_next_id(__u32 start_id, __u32 *next_id)
{
    union bpf_attr attr = {.start_id = start_id};
    if (!syscall(SYS_bpf, BPF_BTF_GET_NEXT_ID, &attr, sizeof(attr))) {
        *next_id = attr.next_id;
        return 0;
    }
    if (errno == EPERM)
        errno = ENOENT; /* the end of the list, for libbpf */
    return -errno;
}
