/* Any path, and any text of /proc/PID/cgroup: what is named fits its arrays and lies inside of the path. */
#include "base/cleanup.h"
#include "container/cgroup_name.h"
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const char *path, size_t len)
{
    struct cgroup_name n;
    cgroup_name_parse(&n, path, len);
    if (n.own > len || strlen(n.id) > CONTAINER_ID_MAX || strlen(n.pod) > POD_UID_MAX ||
        (n.kind == CGROUP_CONTAINER) != (n.id[0] != 0) || (n.kind == CGROUP_UNIT && !n.unit[0]))
        __builtin_trap();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO_FREE char *text = malloc(size + 1);
    const char *path;
    size_t len;
    if (!text)
        return 0;
    memcpy(text, data, size);
    text[size] = 0;
    check((const char *)data, size);
    if (!cgroup_line_find(text, size & 1 ? "pids" : "", &path, &len))
        check(path, len);
    return 0;
}
