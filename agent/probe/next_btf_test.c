#include "base/test.h"
#include <bpf/bpf.h>
#include <errno.h>
#include <sys/wait.h>
#include <unistd.h>

/* Also for libbpf itself, which calls what the program defines. */
TEST(next_btf_is_none_for_who_may_not_look)
{
    pid_t child = fork();
    if (!child) {
        __u32 id = 0;
        int rc = getuid() || !setuid(65534) ? bpf_btf_get_next_id(0, &id) : 0;
        _exit(rc == -ENOENT && errno == ENOENT ? 0 : 1);
    }
    int status = -1;
    waitpid(child, &status, 0);
    CHECK_EQ(status, 0);
}
