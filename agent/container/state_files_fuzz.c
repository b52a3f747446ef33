/* Any bytes in the place of docker's, podman's and containerd's files. */
#include "base/cleanup.h"
#include "base/fs.h"
#include "container/state_files.h"
#include <fcntl.h>
#include <ftw.h>
#include <string.h>
#include <sys/stat.h>

#define ID "0123456789abcdef"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const files[] = {"/var/lib/docker/containers/" ID, "/var/lib/containers/storage/overlay-containers",
                                    "/run/containerd/io.containerd.runtime.v2.task/k8s.io/" ID};
static const char *const names[] = {"config.v2.json", "containers.json", "config.json"};

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
    return remove(path);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const enum container_runtime writers[] = {RUNTIME_DOCKER, RUNTIME_PODMAN, RUNTIME_CONTAINERD};
    char root[64], path[256];
    struct state_file s;
    if (!size)
        return 0;
    unsigned which = data[0] % 3;
    snprintf(root, sizeof(root), "/tmp/xprof-fuzz-%d", (int)getpid());
    snprintf(path, sizeof(path), "%s%s", root, files[which]);
    fs_mkdirs(path);
    size_t n = strlen(path);
    snprintf(path + n, sizeof(path) - n, "/%s", names[which]);
    AUTO_CLOSE int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || fs_write_all(fd, data + 1, size - 1))
        return 0;
    AUTO_CLOSE int at = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (!state_file_find(&s, at, ID, writers[which]) && strlen(s.name) + strlen(s.image) + strlen(s.pod) > 4 * size)
        __builtin_trap();
    nftw(root, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    return 0;
}
