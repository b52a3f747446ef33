/* Does what return probes could break: functions that return twice or elsewhere, contexts, signals, threads that leave
 * by pthread_exit, children by fork, vfork and posix_spawn. Prints a number, the same one each time: 142.
 *
 *     returns [go]    again and again, until SIGTERM; it exits with 1 if a number differs
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#define RIGHT 142

extern char **environ;
static ucontext_t main_context, other;
static char stack[65536];
static volatile sig_atomic_t ended;

static void end(int signal)
{
    (void)signal;
    ended = 1;
}

static void on_signal(int signal)
{
    (void)signal;
}

static void *leave(void *arg)
{
    pthread_exit(arg);
}

static void change(void)
{
    swapcontext(&other, &main_context);
}

static long jumps(void)
{
    static jmp_buf plain;
    static sigjmp_buf with_mask;
    static volatile long n;
    n = 0;
    for (volatile int i = 0; i < 50; i++) {
        if (!setjmp(plain))
            longjmp(plain, 1);
        n++;
        if (!sigsetjmp(with_mask, 1))
            siglongjmp(with_mask, 1);
        n++;
    }
    return n;
}

static long status_of(pid_t pid)
{
    int status;
    pid_t rc;
    do
        rc = waitpid(pid, &status, 0);
    while (rc < 0 && errno == EINTR);
    return rc == pid ? WEXITSTATUS(status) : -1000;
}

static long children(void)
{
    long n = 0;
    for (int i = 0; i < 5; i++) {
        char *argv[] = {"true", NULL};
        pid_t pid = vfork();
        if (!pid)
            _exit(3);
        n += status_of(pid);
        pid = fork();
        if (!pid)
            exit(3);
        n += status_of(pid);
        if (posix_spawnp(&pid, "true", NULL, NULL, argv, environ))
            n -= 1000;
        n += status_of(pid);
    }
    return n + (system("exit 0") ? -1000 : 0);
}

static long contexts(void)
{
    getcontext(&other);
    other.uc_stack.ss_sp = stack;
    other.uc_stack.ss_size = sizeof(stack);
    other.uc_link = &main_context;
    makecontext(&other, change, 0);
    swapcontext(&main_context, &other);
    swapcontext(&main_context, &other);
    return 2;
}

static long threads(void)
{
    long n = 0;
    for (int i = 0; i < 10; i++) {
        pthread_t thread;
        void *result = NULL;
        pthread_create(&thread, NULL, leave, (void *)1L);
        pthread_join(thread, &result);
        n += (long)result;
        raise(SIGUSR1);
    }
    return n;
}

int main(int argc, char **argv)
{
    long n;
    (void)argv;
    signal(SIGTERM, end);
    signal(SIGUSR1, on_signal);
    do
        n = jumps() + children() + contexts() + threads();
    while (n == RIGHT && argc > 1 && !ended);
    printf("%ld\n", n);
    return n != RIGHT;
}
