/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * The few kernel structures that xprof reads, maintained by hand: CO-RE relocates every access against the running
 * kernel's BTF, so only the names matter, not order or size. `___name` suffixes are flavours: the same structure on
 * other versions.
 */
#pragma once
#include <linux/bpf.h>
#include <linux/version.h>

typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef __s16 s16;
typedef __s32 s32;
typedef __s64 s64;
typedef int bool;

#define CORE __attribute__((preserve_access_index))

struct rb_root {
    void *rb_node;
} CORE;
struct rb_root_cached {
    struct rb_root rb_root;
} CORE;
struct rb_node {
    unsigned long __rb_parent_color;
} CORE;
struct maple_tree {
    void *ma_root;
} CORE;
struct file_system_type {
    const char *name;
} CORE;
struct super_block {
    u32 s_dev;
    unsigned long s_magic;
    struct file_system_type *s_type;
} CORE;
struct timespec64 {
    s64 tv_sec;
    long tv_nsec;
} CORE;
struct address_space {
    struct inode *host;
    struct rb_root_cached i_mmap;
} CORE;
struct inode {
    struct super_block *i_sb;
    struct address_space *i_mapping;
    unsigned long i_ino;
    s64 i_size;
    u32 i_generation, i_nlink;
    u16 i_mode;
} CORE;
struct inode___ctime { /* up to 6.5 */
    struct timespec64 i_ctime;
} CORE;
struct inode___hidden_ctime { /* 6.6 - 6.10 */
    struct timespec64 __i_ctime;
} CORE;
struct inode___split_ctime { /* 6.11 on */
    s64 i_ctime_sec;
    u32 i_ctime_nsec;
} CORE;
struct qstr {
    u64 hash_len;
    u32 len;
    const char *name;
} CORE;
struct hlist_bl_node {
    void *pprev;
} CORE;
struct dentry {
    struct hlist_bl_node d_hash;
    struct dentry *d_parent;
    struct qstr d_name;
} CORE;
struct vfsmount {
    struct dentry *mnt_root;
} CORE;
struct mount {
    struct mount *mnt_parent;
    struct dentry *mnt_mountpoint;
    struct vfsmount mnt;
} CORE;
struct path {
    struct vfsmount *mnt;
    struct dentry *dentry;
} CORE;
struct fs_struct {
    struct path root;
} CORE;
struct file_ra_state {
    u32 size;
} CORE;
struct file {
    struct path f_path;
    struct inode *f_inode;
    struct address_space *f_mapping;
    s64 f_pos;
    unsigned int f_flags;
    void *private_data;
    struct file_ra_state f_ra;
} CORE;
struct in6_addr {
    u8 bytes[16];
} CORE;
struct sock_common {
    u32 skc_daddr, skc_portpair;
    u16 skc_dport, skc_num;
    unsigned short skc_family;
    struct in6_addr skc_v6_daddr;
} CORE;
struct sock_cgroup_data {
    struct cgroup *cgroup; /* up to 5.14 a number that has its address */
} CORE;
struct sock {
    struct sock_common __sk_common;
    u8 sk_userlocks : 4;
    u16 sk_protocol;
    struct sock_cgroup_data sk_cgrp_data;
} CORE;
struct sk_buff {
    char cb[48];
} CORE;
struct tcp_skb_cb {
    u16 tcp_gso_segs;
} CORE;
struct inet_bind_bucket {
    signed char fastreuse;
} CORE;
struct inet_connection_sock {
    struct inet_bind_bucket *icsk_bind_hash;
} CORE;
struct sockaddr_un {
    u16 sun_family;
} CORE;
struct unix_address {
    int len;
    struct sockaddr_un name[1];
} CORE;
struct unix_sock {
    struct unix_address *addr;
    struct sock *peer;
} CORE;
struct socket {
    struct sock *sk;
} CORE;
enum pageflags { PG_referenced, PG_active, PG_head };
struct folio {
    struct address_space *mapping;
    unsigned long index, _flags_1; /* flags: of large ones */
} CORE;
struct fdtable {
    unsigned int max_fds;
    struct file **fd;
} CORE;
struct files_struct {
    struct fdtable *fdt;
} CORE;
struct vm_area_struct {
    unsigned long vm_start, vm_end;
    struct mm_struct *vm_mm;
    unsigned long vm_flags;
    unsigned long vm_pgoff;
    struct file *vm_file;
} CORE;
struct refcount_struct {
    int refs;
} CORE;
struct vm_area_struct___lock { /* 6.4 on, with CONFIG_PER_VMA_LOCK */
    u32 vm_lock_seq;
} CORE;
struct vm_area_struct___refcnt { /* 6.15 */
    struct refcount_struct vm_refcnt;
} CORE;
struct vm_area_struct___detached { /* 6.4 to 6.14 */
    u8 detached;
} CORE;
struct vm_area_struct___rb { /* up to 6.0 */
    struct rb_node vm_rb;
} CORE;
typedef struct {
    u64 ctx_id;
    void *vdso;
} CORE mm_context_t;
struct rw_semaphore {
    int owner;
} CORE;
struct percpu_counter {
    s64 count;
    s32 *counters; /* by CPU: to be added to the address of its memory */
} CORE;
struct mm_rss_stat { /* up to 6.1 */
    s64 count[4];
} CORE;
struct xol_area { /* instructions with probes on them */
    unsigned long vaddr;
} CORE;
struct uprobes_state {
    struct xol_area *xol_area;
} CORE;
struct mm_struct {
    struct percpu_counter rss_stat[4]; /* 6.2 on */
    struct maple_tree mm_mt;
    struct rw_semaphore mmap_lock;
    mm_context_t context;
    struct file *exe_file;
    struct uprobes_state uprobes_state;
    unsigned long data_vm;
    unsigned long start_stack, start_brk, brk;
} CORE;
struct mm_struct___old_rss { /* up to 6.1 */
    struct mm_rss_stat rss_stat;
} CORE;
struct mm_struct___rb { /* up to 6.0 */
    struct rb_root mm_rb;
} CORE;
struct mm_struct___int_seq { /* 6.4 - 6.13, with CONFIG_PER_VMA_LOCK */
    int mm_lock_seq;
} CORE;
typedef struct seqcount {
    u32 sequence;
} CORE seqcount_t;
struct mm_struct___seqcount { /* 6.14 on */
    seqcount_t mm_lock_seq;
} CORE;
struct kernfs_node {
    u64 id;
} CORE;
struct cgroup_subsys_state {
    struct cgroup *cgroup;
    struct cgroup_subsys_state *parent;
} CORE;
struct cgroup_root {
    int hierarchy_id;
    unsigned int subsys_mask;
} CORE;
struct cgroup {
    struct cgroup_subsys_state self;
    struct kernfs_node *kn;
    struct cgroup_root *root;
} CORE;
struct css_set {
    struct cgroup_subsys_state *subsys[16];
    struct cgroup *dfl_cgrp;
} CORE;
struct task_io_accounting {
    u64 read_bytes;
} CORE;
struct thread_struct {
    unsigned long fsbase;
} CORE;
struct sched_info {
    unsigned long long run_delay, last_queued;
} CORE;
struct rq {
    unsigned int nr_running, cpu;
    u64 clock, clock_task;
} CORE;
struct cfs_rq {
    struct rq *rq; /* with CONFIG_FAIR_GROUP_SCHED */
} CORE;
struct sched_entity {
    u64 exec_start, sum_exec_runtime;
    struct cfs_rq *cfs_rq; /* the same */
} CORE;
struct restart_block {
    void *fn;
    struct {
        void *uaddr;
    } futex;
} CORE;
struct return_instance { /* of a uretprobe */
    unsigned long stack, orig_ret_vaddr;
    struct return_instance *next;
} CORE;
enum uprobe_task_state { UTASK_RUNNING, UTASK_SSTEP };
struct uprobe_task {
    enum uprobe_task_state state;
    struct return_instance *return_instances;
    unsigned int depth;
    unsigned long vaddr, xol_vaddr;
} CORE;
struct upid {
    int nr;
    void *ns;
};
struct pid {
    unsigned int level;
    struct upid numbers[1];
} CORE;
struct task_struct {
    struct restart_block restart_block;
    struct sched_entity se;
    struct sched_info sched_info;
    unsigned long nvcsw, nivcsw;
    unsigned in_iowait : 1;
    unsigned int __state; /* 5.14 on */
    void *stack;
    unsigned int flags;
    struct mm_struct *mm;
    int pid, tgid;
    struct pid *thread_pid;
    struct task_struct *real_parent, *group_leader;
    u64 start_time, start_boottime;
    char comm[16];
    struct css_set *cgroups;
    struct fs_struct *fs;
    struct files_struct *files;
    struct task_io_accounting ioac;
    struct uprobe_task *utask;
    struct thread_struct thread;
} CORE;
struct task_struct___old_state { /* up to 5.13 */
    volatile long state;
} CORE;
struct gendisk {
    char disk_name[32];
} CORE;
struct block_device {
    struct gendisk *bd_disk;
} CORE;
struct blkcg {
    struct cgroup_subsys_state css;
} CORE;
struct blkcg_gq {
    struct blkcg *blkcg;
} CORE;
struct bvec_iter {
    unsigned int bi_size;
} CORE;
struct bio {
    struct bio *bi_next;
    struct block_device *bi_bdev; /* 5.12 on */
    unsigned int bi_opf;
    struct bvec_iter bi_iter;
    struct blkcg_gq *bi_blkg; /* with CONFIG_BLK_CGROUP */
    void *bi_io_vec;
} CORE;
struct bio___old { /* up to 5.11 */
    struct gendisk *bi_disk;
} CORE;
struct request {
    u32 rq_flags;
    unsigned int __data_len;
    struct bio *bio;
    u64 start_time_ns;
} CORE;
enum rqf_flags { __RQF_FLUSH_SEQ }; /* 6.11 on */
enum req_flag_bits { __REQ_PREFLUSH };
struct kmem_cache {
    unsigned int size;
    const char *name;
} CORE;
struct trace_event_raw_kmem_alloc { /* up to 6.0 */
    bool accounted;                 /* 6.0 */
} CORE;
enum kmalloc_cache_type { KMALLOC_NORMAL, KMALLOC_CGROUP }; /* 5.14 on, the latter */
struct seq_file;
struct bpf_map {
    u32 id;
} CORE;
struct bpf_array {
    void *pptrs[1]; /* of memory of each CPU */
} CORE;
struct bpf_iter_meta {
    struct seq_file *seq;
} CORE;
struct bpf_iter__task_vma {
    struct bpf_iter_meta *meta;
    struct task_struct *task;
    struct vm_area_struct *vma;
} CORE;
struct bpf_iter__task {
    struct bpf_iter_meta *meta;
    struct task_struct *task;
} CORE;
struct bpf_iter__bpf_map_elem {
    struct bpf_iter_meta *meta;
    struct bpf_map *map;
    void *key;
    void *value;
} CORE;

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 18, 0)
struct bpf_task_work { /* include/uapi/linux/bpf.h */
    u64 __opaque;
} __attribute__((aligned(8)));
#endif

/* The context of a perf_event program (include/uapi/linux/bpf_perf_event.h). Registers are read by number, because
 * their C types differ between kernels (arch_x86.bpf.h). */
struct bpf_perf_event_data {
    u64 regs[21]; /* XP_PT_WORDS of arch_x86.bpf.h */
    u64 sample_period, addr;
};
