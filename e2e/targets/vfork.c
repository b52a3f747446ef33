/* Children of vfork, which run on their parent's stack. */
#include "burn.h"
#include <sys/wait.h>
#include <unistd.h>

static KEEP void in_child(void)
{
    burn(15);
    STAY;
}

static KEEP void spawn(void)
{
    pid_t child = vfork();
    if (!child) {
        in_child();
        _exit(0);
    }
    waitpid(child, NULL, 0);
}

/* The time goes into vfork itself, where the return address is in a register. */
static KEEP void quick(int times)
{
    while (times--) {
        pid_t child = vfork();
        if (!child)
            _exit(0);
        waitpid(child, NULL, 0);
    }
}

int main(void)
{
    quick(6000);
    for (int i = 0; i < 25; i++)
        spawn();
    return 0;
}
