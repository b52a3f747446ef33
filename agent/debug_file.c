#include "debug_file.h"
#include "base/cleanup.h"
#include "base/fs.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#define MIN_ID 4 /* hex digits */

static int open_regular(int root, const char *path)
{
    struct stat st;
    AUTO_CLOSE int fd = fs_open_in_root(root, path, O_RDONLY);
    if (fd < 0)
        return fd;
    return !fstat(fd, &st) && S_ISREG(st.st_mode) ? TAKE_FD(fd) : -ENOENT;
}

static int try_by_name(int root, const char *path)
{
    const char *slash = strrchr(path, '/');
    int dir = slash ? (int)(slash - path) : 0, fd = -ENOENT;
    if (path[0] != '/')
        return fd;
    for (int i = 0; i < 3 && fd < 0; i++) {
        AUTO_FREE char *name = NULL;
        int n = i == 0   ? asprintf(&name, "%s.debug", path)
                : i == 1 ? asprintf(&name, "%.*s/.debug%s.debug", dir, path, slash)
                         : asprintf(&name, "/usr/lib/debug%s.debug", path);
        if (n < 0)
            name = NULL;
        fd = name ? open_regular(root, name) : -ENOMEM;
    }
    return fd;
}

int debug_file_open(u32 tgid, const char *path, const char *build_id)
{
    char place[96];
    if (strlen(build_id) < MIN_ID) /* nothing could tell whether it is the right one */
        return -ENOENT;
    snprintf(place, sizeof(place), "/proc/%u/root", tgid);
    AUTO_CLOSE int root = open(place, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (root < 0)
        return -errno;
    snprintf(place, sizeof(place), "/usr/lib/debug/.build-id/%.2s/%.40s.debug", build_id, build_id + 2);
    int fd = open_regular(root, place);
    return fd >= 0 ? fd : try_by_name(root, path);
}
