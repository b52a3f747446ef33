/* A process with a thread, a child from the start, and one that is born whenever SIGUSR1 comes. All burn CPU. */
#include "burn.h"
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

static volatile sig_atomic_t more;

static KEEP void *in_thread(void *arg)
{
    for (;;)
        burn(10);
    return arg;
}

static KEEP void in_old_child(void)
{
    for (;;)
        burn(10);
}

static KEEP void in_new_child(void)
{
    for (;;)
        burn(10);
}

static void ask_for_more(int signal)
{
    more = 1;
}

static void child(void (*work)(void))
{
    if (fork())
        return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    work();
}

int main(void)
{
    pthread_t thread;
    signal(SIGUSR1, ask_for_more);
    child(in_old_child);
    pthread_create(&thread, NULL, in_thread, NULL);
    for (;;) {
        burn(10);
        if (more)
            child(in_new_child);
        more = 0;
    }
}
