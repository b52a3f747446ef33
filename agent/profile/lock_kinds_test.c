/* Stacks of threads in futex waits, leaf first, as gdb and xprof show them: names demangled, or not. */
#include "profile/lock_kinds.h"
#include "base/test.h"
#include <string.h>

#define DEEPEST 12

static const struct {
    enum lock_kind kind;
    const char *functions[DEEPEST];
} STACKS[] = {
    /* ---- glibc ---- */
    {LOCK_KIND_LOCK, {"__lll_lock_wait", "___pthread_mutex_lock", "worker", "start_thread"}},
    {LOCK_KIND_LOCK, {"futex_wait", "__GI___lll_lock_wait", "lll_mutex_lock_optimized", "worker"}},
    {LOCK_KIND_LOCK, {"futex_abstimed_wait", "__pthread_rwlock_wrlock_full64", "worker"}},
    {LOCK_KIND_LOCK, {"__lll_lock_wait_private", "_int_malloc", "malloc"}},
    {LOCK_KIND_JOIN, {"__futex_abstimed_wait_common", "__pthread_clockjoin_ex", "main"}},
    {LOCK_KIND_JOIN, {"pthread_join", "main"}},
    {LOCK_KIND_JOIN, {"syscall", "__pthread_clockjoin_ex", "std::thread::join()", "main"}},
    {LOCK_KIND_CONDITION, {"__futex_abstimed_wait_common", "___pthread_cond_wait", "take", "pool_worker"}},
    {LOCK_KIND_CONDITION, {"pthread_cond_timedwait@@GLIBC_2.3.2", "pool_worker"}},
    {LOCK_KIND_CONDITION, {"___pthread_cond_clockwait", "wait_until", "pool_worker"}},
    {LOCK_KIND_LOCK, {"__lll_lock_wait", "__pthread_mutex_cond_lock", "___pthread_cond_wait", "pool_worker"}},
    {LOCK_KIND_SEMAPHORE, {"do_futex_wait.constprop.0", "__new_sem_wait_slow64.constprop.0", "worker"}},
    {LOCK_KIND_BARRIER, {"futex_wait", "___pthread_barrier_wait", "worker"}},
    /* ---- musl ---- */
    {LOCK_KIND_LOCK, {"__timedwait", "__pthread_mutex_timedlock", "worker"}},
    {LOCK_KIND_LOCK, {"__wait", "__lock", "__libc_malloc_impl"}},
    {LOCK_KIND_CONDITION, {"__timedwait_cp", "__pthread_cond_timedwait", "pthread_cond_wait", "worker"}},
    {LOCK_KIND_LOCK, {"__timedwait", "__pthread_mutex_timedlock", "__pthread_mutex_lock", "__pthread_cond_timedwait"}},
    {LOCK_KIND_JOIN, {"__timedwait_cp", "__pthread_timedjoin_np", "__pthread_join", "main"}},
    {LOCK_KIND_SEMAPHORE, {"__timedwait_cp", "sem_timedwait", "sem_wait", "worker"}},
    {LOCK_KIND_BARRIER, {"__wait", "pthread_barrier_wait", "worker"}},
    /* ---- C++ ---- */
    {LOCK_KIND_LOCK,
     {"___pthread_mutex_lock", "std::mutex::lock()", "std::lock_guard<std::mutex>::lock_guard(std::mutex&)"}},
    {LOCK_KIND_CONDITION, {"syscall", "std::condition_variable::wait(std::unique_lock<std::mutex>&)", "worker()"}},
    {LOCK_KIND_CONDITION, {"0", "_ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE"}},
    {LOCK_KIND_CONDITION, {"x", "std::__1::condition_variable::wait(std::__1::unique_lock<std::__1::mutex>&)"}},
    {LOCK_KIND_CONDITION,
     {"syscall", "void std::__detail::__platform_wait<int>(int const*, int)",
      "void std::__atomic_wait_address_v<int, std::__atomic_base<int>::wait(int, std::memory_order) "
      "const::{lambda()#1}>(int const*, int)"}},
    {LOCK_KIND_SEMAPHORE,
     {"syscall", "void std::__detail::__platform_wait<int>(int const*, int)", "std::__atomic_semaphore::_M_acquire()",
      "std::counting_semaphore<5l>::acquire()"}},
    {LOCK_KIND_BARRIER, {"syscall", "void std::__detail::__platform_wait<int>(int*, int)", "std::latch::wait() const"}},
    {LOCK_KIND_LOCK, {"syscall", "folly::fibers::wait_somehow(std::__atomic_wait)", "worker"}},
    {LOCK_KIND_LOCK, {"__lll_lock_wait", "ns::f<void (std::condition_variable::wait)>(int)"}},
    {LOCK_KIND_LOCK, {"absl::(anonymous namespace)::Futex::Wait", "absl::Mutex::LockSlow(int)", "f()"}},
    /* ---- Rust ---- */
    {LOCK_KIND_LOCK, {"syscall", "std::sys::sync::mutex::futex::Mutex::lock_contended", "prog::main"}},
    {LOCK_KIND_CONDITION, {"syscall", "std::sys::sync::condvar::futex::Condvar::wait_optional_timeout", "prog::pool"}},
    {LOCK_KIND_LOCK,
     {"syscall", "std::sys::sync::mutex::futex::Mutex::lock_contended",
      "std::sys::sync::condvar::futex::Condvar::wait_optional_timeout"}},
    {LOCK_KIND_CONDITION, {"syscall", "std::sys::pal::unix::futex::futex_wait", "std::thread::park", "prog::pool"}},
    {LOCK_KIND_CONDITION,
     {"syscall", "<std::sys::sync::condvar::futex::Condvar>::wait_optional_timeout",
      "<std::sync::nonpoison::condvar::Condvar>::wait::<std::sync::barrier::BarrierState>"}},
    {LOCK_KIND_BARRIER,
     {"syscall", "<std::sys::sync::condvar::futex::Condvar>::wait", "<std::sync::barrier::Barrier>::wait"}},
    {LOCK_KIND_JOIN, {"__pthread_clockjoin_ex", "<std::thread::JoinInner<()>>::join", "prog::main"}},
    {LOCK_KIND_LOCK, {"syscall", "parking_lot::raw_mutex::RawMutex::lock_slow", "prog::main"}},
    {LOCK_KIND_CONDITION, {"syscall", "parking_lot::condvar::Condvar::wait_until_internal", "prog::main"}},
    /* ---- Go ---- */
    {LOCK_KIND_IDLE, {"runtime.futex", "runtime.futexsleep", "runtime.notesleep", "runtime.mPark", "runtime.stopm"}},
    {LOCK_KIND_IDLE, {"runtime.futex", "runtime.futexsleep", "runtime.notetsleep_internal", "runtime.sysmon"}},
    {LOCK_KIND_LOCK,
     {"runtime.futex", "runtime.futexsleep", "runtime.lock2", "runtime.lockWithRank", "runtime.findRunnable"}},
    /* ---- Java ---- */
    {LOCK_KIND_LOCK,
     {"___pthread_cond_wait", "os::PlatformEvent::park()", "ObjectMonitor::EnterI(JavaThread*)",
      "ObjectMonitor::enter(JavaThread*)", "void Prog.work()"}},
    {LOCK_KIND_CONDITION,
     {"___pthread_cond_wait", "os::PlatformEvent::park()", "ObjectMonitor::wait(long, bool, JavaThread*)",
      "void java.lang.Object.wait(long)"}},
    {LOCK_KIND_LOCK,
     {"___pthread_cond_wait", "os::PlatformEvent::park()", "ObjectMonitor::EnterI(JavaThread*)",
      "ObjectMonitor::wait(long, bool, JavaThread*)"}},
    {LOCK_KIND_LOCK,
     {"___pthread_cond_wait", "PlatformMonitor::wait(unsigned long)", "Mutex::lock_contended(Thread*)"}},
    {LOCK_KIND_CONDITION, {"___pthread_cond_wait", "Monitor::wait(unsigned long)", "WorkerThread::run()"}},
    {LOCK_KIND_BARRIER, {"syscall", "LinuxWaitBarrier::wait(int)", "SafepointSynchronize::block(JavaThread*)"}},
    {LOCK_KIND_CONDITION, {"___pthread_cond_wait", "Parker::park(bool, long)", "Unsafe_Park", "Interpreter"}},
    {LOCK_KIND_LOCK,
     {"___pthread_cond_wait", "Unsafe_Park", "void java.util.concurrent.locks.LockSupport.park(java.lang.Object)",
      "int java.util.concurrent.locks.AbstractQueuedSynchronizer.acquire(int, boolean, boolean, boolean, long)",
      "void java.util.concurrent.locks.ReentrantLock.lock()"}},
    {LOCK_KIND_LOCK,
     {"Unsafe_Park", "Ljava/util/concurrent/locks/LockSupport;::park",
      "Ljava/util/concurrent/locks/ReentrantReadWriteLock$WriteLock;::lock"}},
    {LOCK_KIND_CONDITION,
     {"Unsafe_Park", "void java.util.concurrent.locks.LockSupport.park()",
      "boolean java.util.concurrent.locks.AbstractQueuedSynchronizer$ConditionNode.block()",
      "void java.util.concurrent.locks.AbstractQueuedSynchronizer$ConditionObject.await()"}},
    {LOCK_KIND_CONDITION,
     {"Unsafe_Park", "int java.util.concurrent.locks.AbstractQueuedSynchronizer.acquire(int)",
      "void java.util.concurrent.CountDownLatch.await()"}},
    {LOCK_KIND_SEMAPHORE,
     {"Unsafe_Park", "int java.util.concurrent.locks.AbstractQueuedSynchronizer.acquire(int)",
      "void java.util.concurrent.Semaphore.acquire()"}},
    {LOCK_KIND_LOCK, /* what runs tasks has them above it */
     {"___pthread_cond_wait", "ObjectMonitor::enter(JavaThread*)", "void Prog.work()",
      "void java.util.concurrent.FutureTask.run()"}},
    {LOCK_KIND_JOIN, {"ObjectMonitor::wait(long)", "void java.lang.Object.wait(long)", "void java.lang.Thread.join()"}},
    /* ---- Python ---- */
    {LOCK_KIND_LOCK, {"___pthread_cond_timedwait", "take_gil", "PyEval_RestoreThread"}},
    {LOCK_KIND_LOCK, {"do_futex_wait", "__new_sem_wait_slow64", "PyThread_acquire_lock_timed", "acquire_timed"}},
    {LOCK_KIND_LOCK, {"pthread_cond_timedwait", "[python3.11+0xf92c0]", "PyEval_RestoreThread", "inner"}},
    {LOCK_KIND_CONDITION, {"PyThread_acquire_lock_timed", "lock_acquire", "Condition.wait", "Event.wait"}},
    {LOCK_KIND_JOIN, {"do_futex_wait", "PyThread_acquire_lock_timed", "Thread._wait_for_tstate_lock", "Thread.join"}},
    {LOCK_KIND_SEMAPHORE, {"PyThread_acquire_lock_timed", "Condition.wait", "Semaphore.acquire"}},
    {LOCK_KIND_BARRIER, {"PyThread_acquire_lock_timed", "Barrier.wait", "main"}},
    {LOCK_KIND_CONDITION, {"PyThread_acquire_lock_timed", "py::Condition.wait:/usr/lib/python3.12/threading.py"}},
    /* ---- Others ---- */
    {LOCK_KIND_CONDITION, {"pthread_cond_wait", "uv_cond_wait", "worker"}},
    {LOCK_KIND_LOCK, {"syscall", "my_own_lock", "main"}},
    {LOCK_KIND_LOCK, {"[libc.so.6+0x12345]", "[prog+0x100]"}},
    {LOCK_KIND_LOCK, {NULL}},
};

TEST(lock_kinds_of_stacks)
{
    for (size_t i = 0; i < sizeof(STACKS) / sizeof(STACKS[0]); i++) {
        lock_word functions[DEEPEST];
        size_t n = 0;
        for (; n < DEEPEST && STACKS[i].functions[n]; n++)
            functions[n] = lock_function(STACKS[i].functions[n]);
        enum lock_kind kind = lock_decide(functions, n);
        if (kind != STACKS[i].kind)
            test_fail(__FILE__, __LINE__, "stack %zu (%s): kind %d", i, STACKS[i].functions[n ? n - 1 : 0], (int)kind);
    }
}

TEST(lock_kinds_of_names_that_are_odd)
{
    char huge[4096];
    memset(huge, '<', sizeof(huge) - 1);
    huge[sizeof(huge) - 1] = 0;
    CHECK_EQ(lock_function(huge), 0);
    CHECK_EQ(lock_function(""), 0);
    CHECK_EQ(lock_function("("), 0);
    CHECK_EQ(lock_function("(anonymous namespace)::lock()"), 0);
    CHECK_EQ(lock_function("[pthread_join]"), 0);
    CHECK_EQ(lock_function("L"), 0);
    CHECK_EQ(lock_function("my_pthread_joint"), lock_function("pthread_join")); /* wrappers are called so */
}

TEST(lock_kinds_are_called_by_functions_of_runtimes)
{
    CHECK_STR(lock_called("take_gil"), "GIL");
    CHECK_STR(lock_called("ObjectMonitor::EnterI(JavaThread*)"), "Java monitor");
    CHECK_STR(lock_called("ObjectMonitor::reenter_internal(JavaThread*)"), "Java monitor");
    CHECK_STR(lock_called("ObjectSynchronizer::enter(Handle, BasicLock*, JavaThread*)"), "Java monitor");
    CHECK_STR(lock_called("void java.util.concurrent.locks.ReentrantLock.lock()"), "Java lock");
    CHECK(!lock_called("ObjectMonitor::wait(long, bool, JavaThread*)"));
    CHECK(!lock_called("Mutex::lock(Thread*)"));
    CHECK(!lock_called("pthread_mutex_lock"));
}
