#include "profile/lock_kinds.h"
#include <stdbool.h>
#include <string.h>

/* How much a function says. What waits is made of other things that wait: a lock of Python's is a condition of the C
 * library's, a lock of Java's parks its thread, and a latch of Java's is a queue of threads as locks have it. None of
 * these functions calls code of its user's, so whatever is further out is made of what is further in. */
enum weight {
    BASE = 1, /* the C library's */
    BUILT,    /* made of these: a runtime's own */
    HIGHER,   /* made of BUILT ones */
    HIGHEST,
};

/* User functions, separated by spaces; "*" matches any characters, also none. Names are compared without arguments. */
static const struct {
    u8 kind, weight;
    const char *functions;
} TABLE[] = {
    /* ---- C libraries: glibc, musl ---- */
    {LOCK_KIND_CONDITION, BASE,
     "*pthread_cond_wait* *pthread_cond_timedwait* *pthread_cond_clockwait* cnd_wait cnd_timedwait"},
    {LOCK_KIND_SEMAPHORE, BASE,
     "sem_wait* sem_timedwait* sem_clockwait* __sem_wait* __sem_timedwait* __new_sem_* do_futex_wait*"},
    {LOCK_KIND_BARRIER, BASE, "*pthread_barrier_wait*"},
    {LOCK_KIND_JOIN, BASE, "*pthread_join* *pthread_timedjoin* *pthread_clockjoin* *pthread_tryjoin* thrd_join"},
    /* A condition takes its mutex again before it returns: that may be a wait for a lock. */
    {LOCK_KIND_LOCK, BUILT,
     "*lll_lock_wait* *lll_mutex_lock* *pthread_mutex_lock* *pthread_mutex_timedlock* *pthread_mutex_clocklock* "
     "*pthread_mutex_cond_lock* __lock"},
    /* ---- C++ ---- */
    {LOCK_KIND_CONDITION, BUILT,
     "std::*condition_variable*::wait* std::*condition_variable*::__wait* _ZNSt*18condition_variable*wait* "
     "*std::__atomic_wait* *std::__detail::__*wait* *std::*atomic_wait* *std::*atomic*::wait* *std::*atomic_futex* "
     "*absl::*CondVar::Wait* g_cond_wait* uv_cond_wait uv_cond_timedwait"},
    {LOCK_KIND_SEMAPHORE, HIGHER, "std::*semaphore*::*acquire* std::*semaphore*::*wait* uv_sem_wait"},
    {LOCK_KIND_BARRIER, HIGHER,
     "std::*latch::wait std::*latch::arrive_and_wait std::*barrier*::wait std::*barrier*::arrive_and_wait "
     "uv_barrier_wait gomp_barrier_wait* gomp_team_barrier_wait* gomp_simple_barrier_wait"},
    {LOCK_KIND_JOIN, BUILT, "std::*thread::join uv_thread_join g_thread_join"},
    {LOCK_KIND_LOCK, BUILT, "*absl::*Mutex::*Lock* *absl::*SpinLock::*Lock*"},
    /* ---- Rust ---- */
    {LOCK_KIND_CONDITION, BUILT, "*std::thread::park* *std::thread::*::park* *std::sys*Parker::park* *Condvar::wait*"},
    {LOCK_KIND_BARRIER, HIGHER, "*std::sync*Barrier::wait"},
    {LOCK_KIND_JOIN, BUILT, "*std::thread::Join*::join *std::sys*Thread::join"},
    {LOCK_KIND_LOCK, BUILT,
     "*std::sys*lock_contended *std::sys*read_contended *std::sys*write_contended *parking_lot*lock_slow "
     "*parking_lot*lock_*_slow"},
    /* ---- Go: goroutines wait without a thread; these waits are of its threads ---- */
    {LOCK_KIND_IDLE, BUILT, "runtime.notesleep runtime.notetsleep* runtime.mPark runtime.stopm"},
    {LOCK_KIND_LOCK, BUILT, "runtime.lock runtime.lock2 runtime.lockWithRank*"},
    /* ---- Java: HotSpot, and java.util.concurrent, whose names stand in a map of generated code ---- */
    {LOCK_KIND_CONDITION, BUILT,
     "ObjectMonitor::wait* Monitor::wait* Monitor::IWait* Parker::park* Unsafe_Park* *LockSupport.park* *Unsafe.park"},
    {LOCK_KIND_LOCK, BUILT,
     "ObjectMonitor::enter* ObjectMonitor::EnterI* ObjectMonitor::ReenterI* ObjectMonitor::reenter_internal* "
     "ObjectSynchronizer::*enter* Monitor::lock* Monitor::ILock* Mutex::lock*"},
    {LOCK_KIND_BARRIER, BUILT, "LinuxWaitBarrier::wait*"}, /* of a safepoint */
    {LOCK_KIND_CONDITION, HIGHER, "*java.util.concurrent.locks.*Condition*.await*"},
    {LOCK_KIND_LOCK, HIGHER,
     "*java.util.concurrent.locks.*.lock* *java.util.concurrent.locks.*.tryLock *java.util.concurrent.locks.*cquire*"},
    {LOCK_KIND_CONDITION, HIGHEST, "*java.util.concurrent.CountDownLatch.await"},
    {LOCK_KIND_SEMAPHORE, HIGHEST, "*java.util.concurrent.Semaphore.*cquire*"},
    {LOCK_KIND_JOIN, HIGHEST, "*java.lang.Thread.join"},
    /* ---- Python: the GIL and locks are conditions or semaphores of the C library's. Names of its functions have
     * their class since 3.11; "py::" is how its own map of generated code has them ---- */
    {LOCK_KIND_LOCK, BUILT,
     "take_gil PyEval_RestoreThread PyEval_AcquireThread PyThread_acquire_lock* PyMutex_Lock* _PyMutex_Lock*"},
    {LOCK_KIND_CONDITION, HIGHER,
     "PyEvent_Wait* Condition.wait Event.wait py::Condition.wait:* py::Event.wait:* _queue_SimpleQueue_get* "
     "simplequeue_get*"},
    {LOCK_KIND_SEMAPHORE, HIGHEST, "Semaphore.acquire py::Semaphore.acquire:*"},
    {LOCK_KIND_BARRIER, HIGHEST, "Barrier.wait py::Barrier.*"},
    {LOCK_KIND_JOIN, HIGHEST,
     "Thread.join Thread._wait_for_tstate_lock py::Thread.join:* py::Thread._wait_for_tstate_lock:* "
     "ThreadHandle_join"},
};

/* ---- Names ------------------------------------------------------------------------------------------------------- */

#define MAX_NAME 512 /* what is behind does not matter */

/* Up to the arguments: the first parenthesis that is not in those of a template, or a name itself. */
static size_t without_arguments(const char *name, size_t len)
{
    static const char anonymous[] = "(anonymous namespace)";
    int depth = 0;
    for (size_t i = 0; i < len; i++) {
        depth += name[i] == '<' ? 1 : name[i] == '>' && depth ? -1 : 0;
        if (i && name[i] == '(' && !depth && strncmp(name + i, anonymous, strlen(anonymous)) != 0)
            return i;
    }
    return len;
}

/* Rust's "<a::Type<T>>::method" (v0 mangling) is "a::Type<T>::method" for others. Returns the place of the bracket that
 * ends the type; 0: there is none, or it implements a trait for it ("<Type as Trait>::method"). */
static size_t end_of_type(const char *name, size_t len)
{
    int depth = 0;
    if (name[0] != '<')
        return 0;
    for (size_t i = 0; i < len; i++) {
        depth += name[i] == '<' ? 1 : name[i] == '>' ? -1 : 0;
        if (!depth)
            return i;
        if (depth == 1 && !strncmp(name + i, " as ", 4))
            return 0;
    }
    return 0;
}

/* Java's names as perf-map-agent writes them, "Ljava/lang/Thread;::join", become those that others write. */
static size_t spell(const char *name, char out[MAX_NAME + 1])
{
    size_t n = 0, len = without_arguments(name, strnlen(name, MAX_NAME));
    bool java = name[0] == 'L' && strstr(name, ";::");
    size_t type = end_of_type(name, len);
    for (size_t i = type ? 1 : 0; i < len; i++) {
        if (type && i == type)
            continue;
        bool method = java && !strncmp(name + i, ";::", 3);
        out[n++] = method || (java && name[i] == '/') ? '.' : name[i];
        i += method ? 2 : 0;
    }
    out[n] = 0;
    return n;
}

/* The words of the table have few stars. */
static bool matches(const char *word, const char *end, const char *name)
{
    const char *star = NULL, *again = NULL;
    while (*name) {
        if (word < end && *word == '*') {
            star = ++word;
            again = name;
        } else if (word < end && *word == *name) {
            word++;
            name++;
        } else if (star) {
            word = star;
            name = ++again;
        } else {
            return false;
        }
    }
    while (word < end && *word == '*')
        word++;
    return word == end;
}

lock_word lock_function(const char *name)
{
    char text[MAX_NAME + 1];
    lock_word best = 0;
    if (!name[0] || name[0] == '[' || !spell(name, text))
        return 0;
    for (size_t i = 0; i < sizeof(TABLE) / sizeof(TABLE[0]); i++)
        for (const char *word = TABLE[i].functions; *word;) {
            size_t n = strcspn(word, " ");
            if (TABLE[i].weight > best >> 4 && matches(word, word + n, text))
                best = (lock_word)(TABLE[i].weight << 4 | (TABLE[i].kind + 1));
            word += n + strspn(word + n, " ");
        }
    return best;
}

/* ---- Stacks ------------------------------------------------------------------------------------------------------ */

enum lock_kind lock_decide(const lock_word *functions, size_t n)
{
    lock_word best = 0;
    for (size_t i = 0; i < n; i++)
        if (functions[i] >> 4 > best >> 4)
            best = functions[i];
    return best ? (enum lock_kind)((best & 15) - 1) : LOCK_KIND_LOCK;
}

const char *lock_called(const char *function)
{
    static const struct {
        const char *function, *name;
    } names[] = {
        {"take_gil", "GIL"},
        {"PyEval_RestoreThread", "GIL"},           /* where take_gil has no name */
        {"ObjectMonitor::*nter*", "Java monitor"}, /* enter, EnterI, reenter, ... */
        {"ObjectSynchronizer::*enter*", "Java monitor"},
        {"*java.util.concurrent.locks.*", "Java lock"},
    };
    char text[MAX_NAME + 1];
    if (!spell(function, text))
        return NULL;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (matches(names[i].function, names[i].function + strlen(names[i].function), text))
            return names[i].name;
    return NULL;
}
