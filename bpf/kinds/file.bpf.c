/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * Kind `file`: bytes read from and written to files and pipes, the time of all calls on them, and what these made the
 * kernel read from disks. Labels are kinds of file systems.
 */
#include "bpf/kind.bpf.h"
#include "bpf/path.bpf.h"

#define XP_O_DIRECT 040000u /* include/uapi/asm-generic/fcntl.h */

/* Up to 7 bytes of the name of its file system, and whether the page cache is passed by. */
XP_INLINE u64 xp_file_label(struct file *file)
{
    u64 name = 0;
    u32 direct = BPF_CORE_READ(file, f_flags) & XP_O_DIRECT ? XP_LABEL_DIRECT : XP_LABEL_NAME;
    bpf_probe_read_kernel_str(&name, sizeof(name), BPF_CORE_READ(file, f_inode, i_sb, s_type, name));
    return XP_LABEL(direct, name & ~0ull >> 8);
}

/* Bytes that this task has had read from disks; 0 if the kernel keeps no such books. */
XP_INLINE u64 xp_fetched(void)
{
    struct task_struct *t = (struct task_struct *)bpf_get_current_task();
    return bpf_core_field_exists(t->ioac.read_bytes) ? BPF_CORE_READ(t, ioac.read_bytes) : 0;
}

#define XP_CALL_MINE(mode)  (((mode)&XP_S_IFMT) != XP_S_IFSOCK)
#define XP_CALL_LABEL(file) xp_file_label(file)
#define XP_CALL_SUM()       xp_fetched()
#define XP_CALL_TAG(at, to) xp_path_tag(at)

#define XP_CALL_SOCKET(fd)                        0
#define XP_CALL_USES(s, socket, label, tag, does) (void)(s)
#define XP_CALL_SENT(socket, label, tag)          (void)(tag)
#include "bpf/calls.bpf.h"
#include "bpf/rings.bpf.h"
