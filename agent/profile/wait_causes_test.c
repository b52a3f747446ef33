/* Causes of kernel stacks: of Linux 6.18 as /proc/PID/stack showed them, where nothing else is said. */
#include "profile/wait_causes.h"
#include "base/cleanup.h"
#include "base/fs.h"
#include "base/test.h"
#include "bpf/xprof.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* The text of a wait in functions that are separated by spaces, leaf first. */
static const char *text_of(const char *stack, unsigned flags, char *out, size_t size)
{
    char names[64][64];
    u8 functions[64];
    size_t n = 0, named;
    for (int len; n < 64 && sscanf(stack, "%63s%n", names[n], &len) == 1; stack += len, n++)
        functions[n] = wait_function(names[n]);
    enum wait_cause cause = wait_decide(functions, n, flags, &named);
    wait_text(cause, named < n ? names[named] : NULL, out, size);
    return out;
}

struct known {
    const char *text, *stack;
};
static void check(const struct known *k, size_t n, unsigned flags)
{
    char text[128];
    for (size_t i = 0; i < n; i++) {
        bool same = !strcmp(text_of(k[i].stack, flags, text, sizeof(text)), k[i].text);
        if (!same)
            fprintf(stderr, "%s\n", k[i].stack);
        CHECK_STR(text, k[i].text);
    }
}

#define SYSCALL "do_syscall_64 entry_SYSCALL_64_after_hwframe"
#define FAULT   "__do_fault do_fault __handle_mm_fault handle_mm_fault exc_page_fault asm_exc_page_fault"

TEST(wait_causes_of_system_calls)
{
    static const struct known known[] = {
        {"[sleep]", "__schedule schedule hrtimer_nanosleep common_nsleep_timens __x64_sys_clock_nanosleep " SYSCALL},
        {"[sleep]", "__schedule schedule do_nanosleep hrtimer_nanosleep __x64_sys_nanosleep " SYSCALL},
        {"[signal]", "__schedule schedule __do_sys_pause " SYSCALL},
        {"[signal]", "schedule_timeout do_sigtimedwait.isra.0 __x64_sys_rt_sigtimedwait " SYSCALL},
        {"[signal]", "sigsuspend.isra.0 __x64_sys_rt_sigsuspend " SYSCALL},
        {"[signal]", "signalfd_read_iter vfs_read ksys_read " SYSCALL},
        {"[poll]",
         "schedule_hrtimeout_range_clock poll_schedule_timeout.constprop.0 do_sys_poll __x64_sys_poll " SYSCALL},
        {"[poll]",
         "poll_schedule_timeout.constprop.0 do_select core_sys_select do_pselect.constprop.0 "
         "__x64_sys_pselect6 " SYSCALL},
        {"[epoll]", "__schedule schedule schedule_hrtimeout_range do_epoll_wait __x64_sys_epoll_wait " SYSCALL},
        {"[epoll]", "ep_poll do_epoll_wait __x64_sys_epoll_pwait2 " SYSCALL},
        {"[aio]", "wait_for_completion __x64_sys_io_destroy " SYSCALL},
        {"[rcu]", "__flush_work flush_delayed_work fsnotify_destroy_group inotify_release __fput " SYSCALL},
        {"[permission]",
         "fanotify_handle_event fsnotify __fsnotify_parent do_dentry_open vfs_open do_filp_open " SYSCALL},
        {"[permission]", "seccomp_do_user_notification __seccomp_filter syscall_trace_enter " SYSCALL},
        {"[pipe]", "__schedule schedule anon_pipe_read vfs_read ksys_read " SYSCALL},
        {"[pipe]", "__schedule schedule pipe_read new_sync_read vfs_read ksys_read " SYSCALL}, /* 5.10 */
        {"[pipe]", "anon_pipe_write vfs_write ksys_write " SYSCALL},
        {"[pipe]",
         "wait_for_partner fifo_open do_dentry_open vfs_open path_openat do_filp_open do_sys_openat2 "
         "__x64_sys_openat " SYSCALL},
        {"[pipe]", "pipe_wait_readable ipipe_prep.part.0 do_splice __do_splice __x64_sys_splice " SYSCALL},
        {"[pipe]", "pipe_wait_readable ipipe_prep.part.0 do_tee __x64_sys_tee " SYSCALL},
        {"[child]", "do_wait kernel_wait4 " SYSCALL},
        {"[child]", "do_wait kernel_waitid __do_sys_waitid " SYSCALL},
        {"[child]", "wait_for_completion_state kernel_clone __do_sys_vfork " SYSCALL},
        {"[io_uring]", "io_cqring_wait __do_sys_io_uring_enter " SYSCALL},
        {"[aio]", "read_events do_io_getevents __x64_sys_io_getevents " SYSCALL},
        {"[tty]", "wait_woken n_tty_read tty_read vfs_read ksys_read " SYSCALL},
        {"[tty]", "wait_woken n_tty_write file_tty_write.isra.0 vfs_write ksys_write " SYSCALL},
        {"[inotify]", "wait_woken inotify_read vfs_read ksys_read " SYSCALL},
        {"[eventfd]", "do_wait_intr_irq eventfd_read vfs_read ksys_read " SYSCALL},
        {"[timerfd]", "do_wait_intr_irq timerfd_read_iter vfs_read ksys_read " SYSCALL},
        {"[message queue]", "do_msgrcv " SYSCALL},
        {"[message queue]", "wq_sleep do_mq_timedreceive __x64_sys_mq_timedreceive " SYSCALL},
        {"[rcu]", "__wait_rcu_gp synchronize_rcu_normal __x64_sys_membarrier " SYSCALL},
        {"[stopped]", "do_signal_stop get_signal arch_do_signal_or_restart exit_to_user_mode_loop " SYSCALL},
        {"[stopped]", "ptrace_stop get_signal arch_do_signal_or_restart exit_to_user_mode_loop " SYSCALL},
        {"[exit]", "do_task_dead do_exit do_group_exit __x64_sys_exit_group " SYSCALL},
    };
    check(known, COUNT(known), 0);
}

TEST(wait_causes_of_sockets)
{
    static const struct known known[] = {
        {"[socket]",
         "__skb_wait_for_more_packets __skb_recv_datagram skb_recv_datagram unix_accept do_accept "
         "__sys_accept4 " SYSCALL},
        {"[socket]",
         "unix_stream_read_generic unix_stream_recvmsg sock_recvmsg __sys_recvfrom __x64_sys_recvfrom " SYSCALL},
        {"[socket]", "unix_stream_data_wait unix_stream_read_generic " SYSCALL}, /* 5.10 */
        {"[socket]", "sock_alloc_send_pskb unix_stream_sendmsg __sys_sendto __x64_sys_sendto " SYSCALL},
        {"[socket]", "__skb_wait_for_more_packets __unix_dgram_recvmsg sock_recvmsg __sys_recvfrom " SYSCALL},
        {"[socket]", "sock_alloc_send_pskb unix_dgram_sendmsg __sys_sendto __x64_sys_sendto " SYSCALL},
        {"[socket]", "unix_wait_for_peer unix_stream_connect __sys_connect __x64_sys_connect " SYSCALL},
        {"[socket]", "inet_csk_accept inet_accept do_accept __sys_accept4 __x64_sys_accept4 " SYSCALL},
        {"[socket]", "wait_woken sk_wait_data tcp_recvmsg_locked tcp_recvmsg sock_recvmsg __sys_recvfrom " SYSCALL},
        {"[socket]", "wait_woken sk_stream_wait_memory tcp_sendmsg_locked tcp_sendmsg __sys_sendto " SYSCALL},
        {"[socket]", "__skb_wait_for_more_packets __skb_recv_udp udp_recvmsg sock_recvmsg __sys_recvfrom " SYSCALL},
        {"[socket]", "__skb_recv_datagram skb_recv_datagram netlink_recvmsg sock_recvmsg __sys_recvfrom " SYSCALL},
        {"[socket]", "vsock_accept do_accept __sys_accept4 __x64_sys_accept4 " SYSCALL},
        {"[lock]", "__lock_sock lock_sock_nested tcp_recvmsg sock_recvmsg " SYSCALL},
    };
    check(known, COUNT(known), 0);
}

TEST(wait_causes_of_locks)
{
    static const struct known known[] = {
        {"[lock]", "__schedule schedule futex_do_wait __futex_wait futex_wait do_futex __x64_sys_futex " SYSCALL},
        {"[lock]", "futex_wait_queue_me futex_wait do_futex __x64_sys_futex " SYSCALL}, /* 5.10 */
        {"[lock]", "__schedule rt_mutex_schedule futex_lock_pi do_futex __x64_sys_futex " SYSCALL},
        {"[lock]", "schedule schedule_preempt_disabled __mutex_lock.constprop.0 anon_pipe_read vfs_read " SYSCALL},
        {"[lock]", "schedule_preempt_disabled rwsem_down_write_slowpath down_write_killable __vm_munmap " SYSCALL},
        {"[lock]", "schedule_timeout ___down_common __down down xfs_buf_lock xfs_buf_get_map " SYSCALL},
        {"[lock]", "__schedule schedule __vma_start_write vma_modify vma_modify_flags mprotect_fixup " SYSCALL},
        {"[lock]", "__do_semtimedop do_semtimedop " SYSCALL},
        {"[lock]", "locks_lock_inode_wait __do_sys_flock " SYSCALL},
        {"[lock]", "fcntl_setlk do_fcntl __x64_sys_fcntl " SYSCALL},
        /* Memory was used while another thread changed the address space. */
        {"[lock]",
         "rwsem_down_read_slowpath down_read_killable lock_mm_and_find_vma exc_page_fault asm_exc_page_fault"},
    };
    check(known, COUNT(known), 0);
}

TEST(wait_causes_of_disks)
{
    static const struct known known[] = {
        {"[disk]",
         "io_schedule __iomap_dio_rw iomap_dio_rw ext4_file_read_iter do_iter_readv_writev vfs_readv " SYSCALL},
        {"[disk]",
         "io_schedule folio_wait_bit_common filemap_get_pages filemap_read vfs_read __x64_sys_pread64 " SYSCALL},
        {"[disk]",
         "io_schedule wait_on_page_bit generic_file_buffered_read new_sync_read vfs_read " SYSCALL}, /* 5.10 */
        {"[disk]", "wait_for_completion_io submit_bio_wait blkdev_issue_flush ext4_sync_file do_fsync " SYSCALL},
        {"[disk]", "folio_wait_bit folio_wait_writeback __filemap_fdatawait_range file_write_and_wait_range " SYSCALL},
        {"[disk]", "bit_wait_io __wait_on_bit out_of_line_wait_on_bit __sync_dirty_buffer ext4_write_inode " SYSCALL},
        {"[disk]", "jbd2_log_wait_commit jbd2_complete_transaction ext4_sync_file do_fsync " SYSCALL},
        {"[disk]", "wb_wait_for_completion sync_inodes_sb __iterate_supers ksys_sync __do_sys_sync " SYSCALL},
        {"[disk]",
         "submit_bio_wait blkdev_issue_discard ext4_free_blocks ext4_evict_inode evict vfs_rmdir do_rmdir " SYSCALL},
        {"[network file system]",
         "rpc_wait_bit_killable __wait_on_bit __rpc_execute rpc_run_task nfs4_call_sync_sequence"},
        {"[network file system]", "io_schedule folio_wait_bit_common filemap_read nfs_file_read vfs_read " SYSCALL},
        {"[fuse]", "request_wait_answer __fuse_simple_request fuse_lookup_name fuse_lookup __lookup_slow"},
    };
    check(known, COUNT(known), XP_WAIT_IO | XP_WAIT_DEEP);
}

/* Stacks without the functions of the scheduler, as those of threads that are not running. */
TEST(wait_causes_of_locks_that_are_not_seen)
{
    static const struct known known[] = {
        {"[lock]", "__vm_munmap __x64_sys_munmap " SYSCALL},
        {"[lock]", "filename_create do_mkdirat __x64_sys_mkdir " SYSCALL},
        {"[lock]", "lock_mm_and_find_vma exc_page_fault asm_exc_page_fault"},
        {"[lock]", "do_user_addr_fault exc_page_fault asm_exc_page_fault"},
        {"[lock]", "ext4_buffered_write_iter vfs_write ksys_write " SYSCALL},
        {"[lock]", "xfs_ilock xfs_file_buffered_write vfs_write " SYSCALL},
        {"[child]", "kernel_clone __do_sys_vfork " SYSCALL},
        {"[disk]", "jbd2_log_wait_commit ext4_sync_file do_fsync " SYSCALL},
        {"[page fault]", "some_driver_fault __do_fault handle_mm_fault exc_page_fault asm_exc_page_fault"},
        {"[other: affine_move_task]", "affine_move_task __set_cpus_allowed_ptr __sched_setaffinity " SYSCALL},
        {"[other: rescuer_thread]", "rescuer_thread kthread ret_from_fork ret_from_fork_asm"},
        {"[other: __lru_add_drain_all]", "__flush_work __lru_add_drain_all generic_fadvise ksys_fadvise64_64 " SYSCALL},
        {"[other: some_wait]", "__schedule schedule some_wait " SYSCALL}, /* a lock would be seen here */
    };
    check(known, COUNT(known), XP_WAIT_DEEP);
    char text[64];
    CHECK_STR(text_of("__vm_munmap " SYSCALL, 0, text, sizeof(text)), "[other: __vm_munmap]");
    CHECK_STR(text_of("handle_mm_fault exc_page_fault", XP_WAIT_DEEP | XP_WAIT_IO, text, sizeof(text)), "[page fault]");
}

/* A caller that says more than what is next to the leaf. */
TEST(wait_causes_of_memory)
{
    static const struct known known[] = {
        {"[page fault]", "io_schedule folio_wait_bit_common filemap_read_folio filemap_fault " FAULT},
        {"[page fault]", "io_schedule folio_wait_bit_common filemap_fault nfs_filemap_fault " FAULT},
        {"[page fault]", "io_schedule folio_wait_bit_common filemap_fault " FAULT " do_futex __x64_sys_futex " SYSCALL},
        {"[page fault]", "io_schedule filemap_fault " FAULT " ep_send_events do_epoll_wait " SYSCALL},
        {"[page fault]", "some_driver_wait some_driver_fault " FAULT},
        {"[uffd]", "handle_userfault shmem_get_folio_gfp shmem_fault " FAULT},
        {"[reclaim]",
         "io_schedule folio_wait_writeback shrink_folio_list shrink_lruvec shrink_node try_to_free_pages " FAULT},
        {"[reclaim]", "mutex_lock some_shrinker do_shrink_slab shrink_slab try_to_free_pages nfs_read " SYSCALL},
        {"[reclaim]",
         "io_schedule_timeout balance_dirty_pages balance_dirty_pages_ratelimited_flags ext4_write " SYSCALL},
        /* not for want of memory */
        {"[disk]", "bit_wait_io __wait_on_bit ext4_evict_inode shrink_dcache_parent vfs_rmdir " SYSCALL},
    };
    check(known, COUNT(known), 0);
}

TEST(wait_causes_that_are_not_known)
{
    static const struct known known[] = {
        {"[other: worker_thread]", "__schedule schedule worker_thread kthread ret_from_fork ret_from_fork_asm"},
        {"[other: __lru_add_drain_all]",
         "schedule_timeout wait_for_completion __flush_work __lru_add_drain_all generic_fadvise "
         "ksys_fadvise64_64 " SYSCALL},
        {"[other: some_wait]",
         "schedule_timeout wait_for_completion_interruptible some_wait.isra.0.cold vfs_read " SYSCALL},
        {"[other: sys_some]", "schedule __x64_sys_some " SYSCALL},
        {"[other: downs]", "schedule downs " SYSCALL}, /* "down" is no pattern */
        {"[other: pipe]", "schedule pipe " SYSCALL},
        {"[other]", "__schedule schedule " SYSCALL},
        {"[other]", "[kernel] [kernel]"},
        {"[other]", ""},
    };
    check(known, COUNT(known), 0);
    check(known, COUNT(known), XP_WAIT_DEEP);
}

TEST(wait_causes_by_flags)
{
    char text[64];
    CHECK_STR(text_of("__schedule schedule some_wait " SYSCALL, XP_WAIT_IO, text, sizeof(text)), "[disk]");
    CHECK_STR(text_of("", XP_WAIT_IO, text, sizeof(text)), "[disk]");
    CHECK_STR(text_of("io_cqring_wait " SYSCALL, XP_WAIT_IO, text, sizeof(text)), "[io_uring]");
    CHECK_STR(text_of("", XP_WAIT_RUNQUEUE, text, sizeof(text)), "[run queue]");
    CHECK_STR(text_of("schedule folio_wait_bit " SYSCALL, XP_WAIT_RUNQUEUE | XP_WAIT_IO, text, sizeof(text)),
              "[run queue]");
    CHECK_STR(text_of("schedule some_longer_name", 0, text, 12), "[other: som"); /* no more than there is room for */
}

/* An exact name wins over a pattern, a longer pattern over a shorter one, wherever they are in the table. */
TEST(wait_functions_match_best)
{
    CHECK_EQ(wait_function("rt_mutex_schedule"), WAIT_SCHEDULER);
    CHECK_EQ(wait_function("rt_mutex_lock"), WAIT_LOCK);
    CHECK_EQ(wait_function("filemap_fault"), WAIT_PAGE_FAULT);
    CHECK_EQ(wait_function("filemap_read"), WAIT_DISK);
    CHECK_EQ(wait_function("wait_rcu_exp_gp"), WAIT_RCU);
    CHECK_EQ(wait_function("io_schedule_timeout"), WAIT_SCHEDULER);
    CHECK_EQ(wait_function("io_uring_cancel_generic"), WAIT_IO_URING);
    CHECK_EQ(wait_function("__x64_sys_pause"), WAIT_SIGNAL);
    CHECK_EQ(wait_function("__ia32_sys_pause.cold"), WAIT_SIGNAL);
    CHECK_EQ(wait_function("do_fsync"), WAIT_DISK);
    CHECK_EQ(wait_function("do_fsyncs"), WAIT_UNKNOWN);
    CHECK_EQ(wait_function("vfs_read"), WAIT_UNKNOWN);
    CHECK_EQ(wait_function(".cold"), WAIT_SCHEDULER);
    CHECK_EQ(wait_function(""), WAIT_SCHEDULER);
}

/* Readers see causes in their profiles and look them up. */
TEST(wait_causes_are_explained)
{
    AUTO_FREE char *page = NULL;
    size_t len;
    char text[64], quoted[80];
    if (fs_read_file("docs/waiting.md", 1 << 20, &page, &len) == -ENOENT)
        SKIP("not in the root of the repository");
    CHECK(page);
    for (unsigned i = 0; i < WAIT_CAUSE_COUNT; i++) {
        wait_text((enum wait_cause)i, NULL, text, sizeof(text));
        snprintf(quoted, sizeof(quoted), "`%s`", text);
        const char *row = memmem(page, len, quoted, strlen(quoted));
        if (!row)
            fprintf(stderr, "%s is not in docs/waiting.md\n", text);
        CHECK(row);
    }
}
