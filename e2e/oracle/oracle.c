/* oracle -p PID [-n STOPS]: stops a process at random instants and unwinds the very same registers and memory twice,
 * with the unwinder that runs in the kernel (compiled for the host) and with elfutils' libdwfl. Prints how many frames
 * are equal, and every kind of difference with an example.
 */
#include "space.h"
#include "base/cleanup.h"
#include <elfutils/libdwfl.h>
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>

#define MAX_FRAMES (XP_MAX_USER + 100)

struct stack {
    u64 pc[MAX_FRAMES];
    size_t n;
};

struct oracle {
    pid_t pid, tid; /* of the stop at hand */
    struct space space;
    Dwfl *dwfl;
    struct xp_regs regs;
    struct xp_state *state;
    struct stack ours, theirs;
    u64 stops, equal_stops, frames, equal_frames, ours_deeper, theirs_deeper, differ, complete, shown;
};

static int read_memory(void *ctx, void *to, u32 len, u64 from)
{
    struct oracle *o = ctx;
    struct iovec local = {to, len}, remote = {(void *)from, len};
    return process_vm_readv(o->pid, &local, 1, &remote, 1, 0) != (ssize_t)len;
}

/* ---- libdwfl on the same registers and memory ---- */

static pid_t next_thread(Dwfl *dwfl, void *arg, void **thread)
{
    struct oracle *o = arg;
    if (*thread)
        return 0;
    *thread = o;
    return o->tid;
}

static bool memory_read(Dwfl *dwfl, Dwarf_Addr at, Dwarf_Word *out, void *arg)
{
    return !read_memory(arg, out, sizeof(*out), at);
}

static bool initial_registers(Dwfl_Thread *thread, void *arg)
{
    struct oracle *o = arg;
    return dwfl_thread_state_registers(thread, 0, 17, o->regs.r);
}

static int on_frame(Dwfl_Frame *frame, void *arg)
{
    struct oracle *o = arg;
    if (!dwfl_frame_pc(frame, &o->theirs.pc[o->theirs.n], NULL))
        return DWARF_CB_ABORT;
    return ++o->theirs.n < MAX_FRAMES - 1 ? DWARF_CB_OK : DWARF_CB_ABORT;
}

static int begin_dwfl(struct oracle *o)
{
    static const Dwfl_Callbacks callbacks = {.find_elf = dwfl_linux_proc_find_elf,
                                             .find_debuginfo = dwfl_standard_find_debuginfo};
    static const Dwfl_Thread_Callbacks threads = {
        .next_thread = next_thread, .memory_read = memory_read, .set_initial_registers = initial_registers};
    if (o->dwfl)
        dwfl_end(o->dwfl);
    o->dwfl = dwfl_begin(&callbacks);
    if (!o->dwfl || dwfl_linux_proc_report(o->dwfl, o->pid) || dwfl_report_end(o->dwfl, NULL, NULL))
        return -EIO;
    return dwfl_attach_state(o->dwfl, NULL, o->pid, &threads, o) ? 0 : -EIO;
}

/* ---- Comparison ---- */

static void show(struct oracle *o, const char *what, size_t at)
{
    if (++o->shown > 12)
        return;
    const char *file = "?";
    u64 offset = 0;
    if (at && at <= o->ours.n) {
        u64 word = o->state->words[at - 1];
        space_address(&o->space, word, &file);
        offset = XP_WORD_OFFSET(word);
    }
    printf("  %s behind frame %zu of %zu/%zu: %s+%#llx (our end: %u)\n", what, at, o->ours.n, o->theirs.n, file,
           (unsigned long long)offset, o->state->cause);
}

static void compare(struct oracle *o)
{
    size_t n = o->ours.n < o->theirs.n ? o->ours.n : o->theirs.n, same = 0;
    while (same < n && o->ours.pc[same] == o->theirs.pc[same])
        same++;
    bool complete = o->state->cause == XP_CAUSE_END || o->state->cause == XP_CAUSE_END_FP;
    o->stops++;
    o->complete += complete;
    o->equal_frames += same;
    o->frames += o->theirs.n;
    if (same == o->ours.n && same == o->theirs.n) {
        o->equal_stops++;
    } else if (same == o->theirs.n) { /* libdwfl gave up where we went on to the end: its frames are all equal */
        o->ours_deeper++;
        show(o, "libdwfl stops", same);
    } else if (same == o->ours.n) {
        o->theirs_deeper++;
        show(o, "we stop", same);
    } else {
        o->differ++;
        show(o, "they differ", same);
    }
}

static void unwind_both(struct oracle *o)
{
    struct host_space host = space_host(&o->space, read_memory, o);
    const char *name;
    host_unwind(&host, &o->regs, o->state);
    o->ours.n = o->state->sample.nuser;
    for (size_t i = 0; i < o->ours.n; i++)
        o->ours.pc[i] = space_address(&o->space, o->state->words[i], &name);
    o->theirs.n = 0;
    dwfl_getthread_frames(o->dwfl, o->tid, on_frame, o);
    compare(o);
}

/* ---- Stopping ---- */

static void take_regs(struct xp_regs *to, const struct user_regs_struct *u)
{
    *to = (struct xp_regs){{u->rax, u->rdx, u->rcx, u->rbx, u->rsi, u->rdi, u->rbp, u->rsp, u->r8, u->r9, u->r10,
                            u->r11, u->r12, u->r13, u->r14, u->r15, u->rip}};
}

/* Any thread of the process; which one is left to chance. */
static pid_t pick_thread(pid_t pid)
{
    char path[64];
    pid_t chosen = pid;
    int seen = 0;
    snprintf(path, sizeof(path), "/proc/%d/task", pid);
    DIR *d = opendir(path);
    for (struct dirent *e; d && (e = readdir(d));)
        if (e->d_name[0] != '.' && rand() % ++seen == 0)
            chosen = (pid_t)strtol(e->d_name, NULL, 10);
    if (d)
        closedir(d);
    return chosen;
}

static int one_stop(struct oracle *o)
{
    struct user_regs_struct u;
    int status;
    o->tid = pick_thread(o->pid);
    if (ptrace(PTRACE_SEIZE, o->tid, NULL, NULL))
        return -errno;
    if (ptrace(PTRACE_INTERRUPT, o->tid, NULL, NULL) || waitpid(o->tid, &status, __WALL) < 0 || !WIFSTOPPED(status))
        return -ESRCH;
    int rc = ptrace(PTRACE_GETREGS, o->tid, NULL, &u) ? -errno : 0;
    if (!rc && u.cs == 0x33) {
        take_regs(&o->regs, &u);
        rc = space_refresh(&o->space, o->pid);
        if (rc > 0)
            rc = begin_dwfl(o);
        if (!rc)
            unwind_both(o);
    }
    int signal = WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status);
    ptrace(PTRACE_DETACH, o->tid, NULL, (void *)(long)signal);
    return rc;
}

static void report(const struct oracle *o)
{
    double frames = o->frames ? 100.0 * (double)o->equal_frames / (double)o->frames : 0;
    double complete = o->stops ? 100.0 * (double)o->complete / (double)o->stops : 0;
    printf(
        "stops %llu, complete %.2f %%, equal %llu, ours deeper %llu, theirs deeper %llu, differ %llu; "
        "frames %llu, equal %.3f %%\n",
        (unsigned long long)o->stops, complete, (unsigned long long)o->equal_stops, (unsigned long long)o->ours_deeper,
        (unsigned long long)o->theirs_deeper, (unsigned long long)o->differ, (unsigned long long)o->frames, frames);
}

int main(int argc, char **argv)
{
    struct oracle o = {0};
    long stops = 1000;
    for (int c; (c = getopt(argc, argv, "p:n:")) != -1;)
        if (c == 'p')
            o.pid = (pid_t)strtol(optarg, NULL, 10);
        else if (c == 'n')
            stops = strtol(optarg, NULL, 10);
    o.state = calloc(1, sizeof(*o.state));
    if (o.pid <= 0 || stops <= 0 || !o.state) {
        fprintf(stderr, "usage: oracle -p PID [-n STOPS]\n");
        return 2;
    }
    for (long i = 0; i < stops && !kill(o.pid, 0); i++) {
        struct timespec pause = {0, 500000 + rand() % 3000000};
        nanosleep(&pause, NULL);
        one_stop(&o);
    }
    report(&o);
    if (o.dwfl)
        dwfl_end(o.dwfl);
    space_free(&o.space);
    free(o.state);
    return !o.stops || (double)o.equal_frames < 0.999 * (double)o.frames;
}
