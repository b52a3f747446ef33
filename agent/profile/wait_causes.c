#include "profile/wait_causes.h"
#include "bpf/xprof.h"
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Kernel functions, separated by spaces; "*" at the end matches any rest. An exact name wins over a pattern, a longer
 * pattern over a shorter one. Kernels inline differently, so there are several functions of each path, from Linux 5.10
 * to 7.x. */
static const struct {
    u8 cause;
    const char *functions;
} TABLE[] = {
    {WAIT_SCHEDULER,
     "__schedule schedule schedule_* io_schedule* preempt_schedule* cond_resched* __cond_resched* _cond_resched "
     "context_switch finish_task_switch __switch_to* wait_for_completion* wait_for_common* __wait_for_common* "
     "do_wait_for_common do_wait_intr* wait_woken bit_wait* __wait_on_bit* out_of_line_wait_on_bit* wait_on_bit* "
     "wait_var_event* rt_mutex_schedule msleep* usleep_range* fsleep __flush_work* flush_work* flush_delayed_work "
     "cancel_work_sync cancel_delayed_work_sync __cancel_work_* "
     /* how a program of ours got there */
     "__traceiter_* __bpf_trace_* bpf_trace_run* bpf_prog_* bpf_get_stack* bpf_trampoline_* trace_call_bpf* "
     /* where all system calls, threads and returns come through */
     "do_syscall_* x64_sys_call entry_SYSCALL_* entry_SYSENTER_* ret_from_fork* exit_to_user_mode_* "
     "syscall_exit_to_user_mode* irqentry_exit* arch_do_signal* task_work_run __x86_return_thunk srso_* retbleed_*"},
    /* Kernel threads are idle in uninterruptible waits; the others wait for something to be completed. */
    {WAIT_NO_LOCK,
     "kthread kthread_stop* kthread_park* affine_move_task stop_one_cpu* stop_machine* cpuhp_* "
     "call_usermodehelper_exec "
     "devtmpfs_submit_req de_thread"},
    {WAIT_DISK,
     "__iomap_dio_rw iomap_* blkdev_* __blkdev_* blk_* __blk_* submit_bio* bio_* dio_* do_blockdev_direct_IO "
     "__blockdev_direct_IO wbt_* rq_qos_* folio_wait_* folio_lock* __folio_lock* folio_put_wait_locked "
     "wait_on_page_* lock_page* __lock_page* put_and_wait_on_page_locked wait_for_stable_page filemap_* __filemap_* "
     "generic_file_buffered_read generic_file_read_iter page_cache_* read_cache_* "
     "do_read_cache_* __wait_on_buffer __lock_buffer __sync_dirty_buffer sync_dirty_buffer __bread* __bh_* bh_* "
     "block_* fsync_buffers_list do_fsync vfs_fsync* ksys_sync sync_filesystem sync_inodes_sb sync_blockdev* "
     "sync_bdevs "
     "sync_file_range* sync_inode* file_write_and_wait_range file_fdatawait_range wait_sb_inodes "
     "wb_wait_for_completion "
     "inode_wait_for_writeback* writeback_* __writeback_* swap_* read_swap_cache* swapin_* shmem_swapin* "
     "jbd2_* ext2_* ext4_* xfs_* xlog_* btrfs_* f2fs_* zio_wait zil_* txg_wait_* dmu_* nvme_* scsi_* dm_* "
     "md_handle_request md_flush_request md_write_start"},
    {WAIT_NETWORK_FS,
     "nfs_* nfs3_* nfs4_* nfs42_* rpc_* __rpc_* cifs_* smb_* smb2_* SMB2_* wait_for_response ceph_* afs_* p9_* v9fs_* "
     "netfs_* ocfs2_* gfs2_*"},
    {WAIT_FUSE, "fuse_* __fuse_* request_wait_answer virtio_fs_*"},
    {WAIT_PAGE_FAULT,
     "asm_exc_page_fault exc_page_fault do_user_addr_fault do_page_fault handle_mm_fault __handle_mm_fault "
     "do_swap_page filemap_fault do_fault __do_fault migration_entry_wait* faultin_page __get_user_pages* "
     "get_user_pages* pin_user_pages* fixup_user_fault populate_vma_page_range"},
    {WAIT_UFFD, "handle_userfault userfaultfd_*"},
    {WAIT_RECLAIM,
     "shrink_node* shrink_lruvec* shrink_inactive_list shrink_active_list shrink_folio_list shrink_page_list "
     "shrink_slab* do_shrink_slab shrink_one shrink_many shrink_zones evict_folios try_to_free_* do_try_to_free_pages "
     "balance_dirty_pages* throttle_direct_reclaim reclaim_throttle congestion_wait wait_iff_congested "
     "mem_cgroup_handle_over_high __mem_cgroup_handle_over_high mem_cgroup_oom* out_of_memory __alloc_pages_slowpath "
     "__alloc_pages_direct_* compact_zone* try_to_compact_pages isolate_migratepages* node_reclaim __node_reclaim"},
    {WAIT_LOCK,
     "futex_* __futex_* do_futex sys_futex* mutex_lock* __mutex_lock* ww_mutex_* __ww_mutex_* down down_* __down* "
     "___down_common rwsem_* rwbase_* rt_mutex_* __rt_mutex_* rtlock_* rt_spin_lock* rt_read_lock* rt_write_lock* "
     "percpu_down_* __percpu_down_* percpu_rwsem_* lock_sock_nested __lock_sock* ldsem_* __ldsem_* __vma_start_write "
     "vma_start_write* __vma_enter_* lock_mm_and_find_vma mmap_read_lock* mmap_write_lock* xfs_ilock* "
     "generic_file_write_iter ext4_buffered_write_iter locks_lock_inode_wait flock_lock_inode_wait "
     "posix_lock_inode_wait do_lock_file_wait fcntl_setlk* sys_flock do_semtimedop __do_semtimedop sys_semtimedop"},
    {WAIT_SOCKET,
     "sk_wait_data sk_stream_wait_* __skb_wait_for_more_packets __skb_recv_* skb_recv_datagram sock_alloc_send_* "
     "sock_wait_for_wmem inet_csk_accept inet_csk_wait_for_connect inet_accept inet_wait_for_connect inet_release "
     "inet_stream_connect __inet_stream_connect tcp_recvmsg* tcp_sendmsg* tcp_close __tcp_close udp_recvmsg "
     "unix_stream_* unix_wait_for_peer unix_accept unix_dgram_* __unix_dgram_recvmsg netlink_recvmsg vsock_* "
     "virtio_transport_* packet_recvmsg raw_recvmsg sctp_* mptcp_* tls_* do_accept __sys_accept4* __sys_connect* "
     "sock_recvmsg sock_read_iter __sys_recvfrom __sys_recvmsg __sys_recvmmsg"},
    {WAIT_PIPE,
     "pipe_read pipe_write pipe_wait* anon_pipe_* fifo_* wait_for_partner ipipe_prep opipe_prep splice_from_pipe* "
     "__splice_from_pipe splice_to_pipe wait_for_space link_pipe do_tee iter_to_pipe vmsplice_*"},
    {WAIT_EPOLL, "ep_poll do_epoll_wait do_epoll_pwait sys_epoll_wait sys_epoll_pwait*"},
    {WAIT_POLL,
     "do_sys_poll do_poll poll_schedule_timeout do_select core_sys_select kern_select do_pselect sys_poll sys_ppoll* "
     "sys_select sys_pselect6*"},
    {WAIT_SLEEP,
     "hrtimer_nanosleep do_nanosleep common_nsleep* sys_nanosleep* sys_clock_nanosleep* alarm_timer_nsleep* "
     "alarmtimer_do_nsleep do_cpu_nanosleep posix_cpu_nsleep*"},
    {WAIT_CHILD, "do_wait __do_wait kernel_wait4 kernel_waitid sys_wait4 sys_waitid wait_for_vfork_done kernel_clone"},
    {WAIT_SIGNAL,
     "sys_pause sigsuspend sys_rt_sigsuspend do_sigtimedwait sys_rt_sigtimedwait signalfd_read* signalfd_dequeue"},
    {WAIT_IO_URING, "io_cqring_wait io_sq_thread io_wq_worker io_wqe_worker io_uring_* sys_io_uring_enter"},
    {WAIT_AIO, "read_events do_io_getevents sys_io_getevents* sys_io_pgetevents* sys_io_destroy exit_aio"},
    {WAIT_TTY, "n_tty_* tty_* file_tty_write"},
    {WAIT_INOTIFY, "inotify_read fanotify_read"},
    {WAIT_EVENTFD, "eventfd_read eventfd_write"},
    {WAIT_TIMERFD, "timerfd_read*"},
    {WAIT_MESSAGES, "do_msgrcv do_msgsnd wq_sleep do_mq_timedreceive do_mq_timedsend"},
    {WAIT_RCU,
     "synchronize_rcu* synchronize_srcu* __synchronize_srcu synchronize_net __wait_rcu_gp wait_rcu_* rcu_barrier* "
     "fsnotify_wait_marks_destroyed fsnotify_destroy_group"},
    {WAIT_KVM, "kvm_vcpu_block kvm_vcpu_halt"},
    {WAIT_GPU, "dma_fence_* dma_resv_* drm_*"},
    {WAIT_PERMISSION, "fanotify_get_response fanotify_handle_event seccomp_do_user_notification __seccomp_filter"},
    {WAIT_STOPPED, "do_signal_stop ptrace_stop ptrace_notify do_jobctl_trap do_freezer_trap __refrigerator get_signal"},
    {WAIT_EXIT, "do_exit do_group_exit do_task_dead coredump_* do_coredump"},
};

/* ---- Functions --------------------------------------------------------------------------------------------------- */

/* The name of a function as it is in the source: *len characters of the result. */
static const char *bare(const char *name, size_t *len)
{
    static const char *const entries[] = {"__x64_sys_", "__ia32_sys_", "__arm64_sys_", "__se_sys_", "__do_sys_"};
    for (size_t i = 0; i < sizeof(entries) / sizeof(entries[0]); i++)
        if (!strncmp(name, entries[i], strlen(entries[i]))) {
            name += strlen(entries[i]) - strlen("sys_");
            break;
        }
    *len = strcspn(name, "."); /* .isra.0, .constprop.0, .part.0, .cold, .llvm.123 */
    return name;
}

/* How well a word of the table matches a name: 0, not at all; an exact match is better than all others. */
static size_t match(const char *word, size_t word_len, const char *name, size_t len)
{
    bool pattern = word[word_len - 1] == '*';
    size_t n = word_len - pattern;
    if (len < n || (len > n && !pattern) || memcmp(word, name, n))
        return 0;
    return pattern ? n : SIZE_MAX;
}

u8 wait_function(const char *name)
{
    size_t len, best = 0;
    u8 cause = WAIT_UNKNOWN;
    name = bare(name, &len);
    if (!len || name[0] == '[') /* "[kernel]": an address without a name */
        return WAIT_SCHEDULER;
    for (size_t i = 0; i < sizeof(TABLE) / sizeof(TABLE[0]); i++)
        for (const char *word = TABLE[i].functions; *word;) {
            size_t n = strcspn(word, " "), m = match(word, n, name, len);
            if (m > best) {
                best = m;
                cause = TABLE[i].cause;
            }
            word += n + strspn(word + n, " ");
        }
    return cause;
}

/* ---- Stacks ------------------------------------------------------------------------------------------------------ */

/* The function next to the leaf says most. A caller further out says more in these cases: a disk is read for a file
 * system behind a network or a process, or because memory was used that is not there yet, or because other memory has
 * to be freed first. */
static unsigned rank(u8 cause)
{
    switch (cause) {
    case WAIT_DISK:
        return 1;
    case WAIT_NETWORK_FS:
    case WAIT_FUSE:
        return 2;
    case WAIT_PAGE_FAULT:
        return 3;
    case WAIT_RECLAIM:
        return 5;
    default:
        return 4;
    }
}
static bool wins(u8 caller, u8 cause)
{
    bool outer =
        caller == WAIT_NETWORK_FS || caller == WAIT_FUSE || caller == WAIT_PAGE_FAULT || caller == WAIT_RECLAIM;
    return outer && rank(caller) > rank(cause);
}

/* Stacks of threads that are not running lack the functions of locks, which the kernel leaves out of them with all
 * others of its scheduler (kernel/stacktrace.c: stack_trace_consume_entry_nosched). An uninterruptible wait that is not
 * for I/O, directly in a function that is not known for anything else, is for one. */
static bool hidden_lock(const u8 *functions, size_t n, unsigned flags)
{
    if (!n || flags & XP_WAIT_IO || !(flags & XP_WAIT_DEEP) ||
        (functions[0] != WAIT_UNKNOWN && functions[0] != WAIT_PAGE_FAULT))
        return false;
    for (size_t i = 0; i < n; i++)
        if (functions[i] == WAIT_NO_LOCK)
            return false;
    return true;
}

enum wait_cause wait_decide(const u8 *functions, size_t n, unsigned flags, size_t *named)
{
    u8 cause = WAIT_OTHER;
    *named = n;
    if (flags & XP_WAIT_RUNQUEUE)
        return WAIT_RUN_QUEUE;
    for (size_t i = 0; i < n; i++) {
        u8 f = functions[i];
        if ((f == WAIT_UNKNOWN || f == WAIT_NO_LOCK) && *named == n)
            *named = i;
        if (f < WAIT_CAUSE_COUNT && (cause == WAIT_OTHER || wins(f, cause)))
            cause = f;
    }
    if (cause == WAIT_OTHER && flags & XP_WAIT_IO)
        cause = WAIT_DISK;
    if (hidden_lock(functions, n, flags) && (cause == WAIT_OTHER || cause == functions[0]))
        cause = WAIT_LOCK;
    if (cause != WAIT_OTHER)
        *named = n;
    return cause;
}

void wait_text(enum wait_cause cause, const char *function, char *out, size_t size)
{
    static const char *const texts[] = {
#define WAIT_CAUSE_TEXT(name, text) text,
        WAIT_CAUSES(WAIT_CAUSE_TEXT)
#undef WAIT_CAUSE_TEXT
    };
    size_t len;
    function = bare(function ? function : "", &len);
    snprintf(out, size, len ? "[%s: %.*s]" : "[%s]", texts[cause], (int)len, function);
}
