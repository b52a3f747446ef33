#include "base/test.h"
#include "profile/kernel_locks.h"

TEST(kernel_locks_are_told_by_who_takes_them)
{
    CHECK(kernel_lock_traces("bpf_prog_0123456789abcdef_xp_on_contended"));
    CHECK(kernel_lock_traces("__traceiter_contention_end"));
    CHECK(!kernel_lock_traces("rwsem_down_write_slowpath"));
    CHECK(kernel_lock_takes("rwsem_down_write_slowpath"));
    CHECK(kernel_lock_takes("__mutex_lock.constprop.0"));
    CHECK(kernel_lock_takes("down"));
    CHECK(kernel_lock_takes("__percpu_down_read"));
    CHECK(!kernel_lock_takes("downgrade_write"));
    CHECK(!kernel_lock_takes("rtnl_lock"));
    CHECK(!kernel_lock_takes("ext4_buffered_write_iter"));
}
