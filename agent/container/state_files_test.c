#include "container/state_files.h"
#include "base/cleanup.h"
#include "base/fs.h"
#include "base/test.h"
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

struct root {
    char path[32];
    int fd;
};

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
    return remove(path);
}

static void root_free(struct root *r)
{
    if (r->fd >= 0)
        close(r->fd);
    nftw(r->path, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static int put(struct root *r, const char *path, const char *text)
{
    char full[512];
    if (!r->path[0]) {
        snprintf(r->path, sizeof(r->path), "/tmp/xprof-state-XXXXXX");
        if (!mkdtemp(r->path))
            return -1;
        r->fd = open(r->path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    }
    snprintf(full, sizeof(full), "%s%s", r->path, path);
    *strrchr(full, '/') = 0;
    int rc = fs_mkdirs(full);
    full[strlen(full)] = '/';
    return rc ? rc : fs_replace_file(full, text, strlen(text), 0600);
}

TEST(state_of_docker)
{
    CLEANUP(root_free) struct root r = {.fd = -1};
    struct state_file s;
    CHECK_EQ(
        put(&r, "/var/lib/docker/containers/" ID "/config.v2.json",
            "{\"State\":{\"Pid\":77},\"Name\":\"/web\",\"Image\":\"sha256:aa\",\"Config\":{\"Image\":\"nginx:1\"}}"),
        0);
    CHECK_EQ(state_file_find(&s, r.fd, ID, RUNTIME_UNKNOWN), 0);
    CHECK_EQ(s.runtime, RUNTIME_DOCKER);
    CHECK_STR(s.name, "web");
    CHECK_STR(s.image, "nginx:1");
    CHECK_STR(s.image_id, "sha256:aa");
    CHECK_STR(s.pod, "");
    CHECK(!s.sandbox);
    CHECK_EQ(state_file_find(&s, r.fd, "abcd", RUNTIME_UNKNOWN), -ENODATA);
    CHECK_EQ(state_file_find(&s, r.fd, ID, RUNTIME_PODMAN), -ENODATA);
}

TEST(state_of_podman)
{
    CLEANUP(root_free) struct root r = {.fd = -1};
    struct state_file s;
    CHECK_EQ(put(&r, "/var/lib/containers/storage/overlay-containers/containers.json",
                 "[{\"id\":\"ffff\",\"names\":[\"other\"]},{\"id\":\"" ID "\",\"names\":[\"db\"],\"image\":\"bb\","
                 "\"metadata\":\"{\\\"image-name\\\":\\\"pg:16\\\"}\"}]"),
             0);
    CHECK_EQ(state_file_find(&s, r.fd, ID, RUNTIME_PODMAN), 0);
    CHECK_EQ(s.runtime, RUNTIME_PODMAN);
    CHECK_STR(s.name, "db");
    CHECK_STR(s.image, "pg:16");
    CHECK_STR(s.image_id, "bb");
}

TEST(state_of_containerd)
{
    CLEANUP(root_free) struct root r = {.fd = -1};
    struct state_file s;
    CHECK_EQ(put(&r, "/run/containerd/io.containerd.runtime.v2.task/moby/ffff/config.json", "{}"), 0);
    CHECK_EQ(
        put(&r, "/run/containerd/io.containerd.runtime.v2.task/k8s.io/" ID "/config.json",
            "{\"annotations\":{\"io.kubernetes.cri.container-type\":\"sandbox\",\"io.kubernetes.cri.sandbox-name\":"
            "\"web-0\",\"io.kubernetes.cri.sandbox-namespace\":\"prod\",\"io.kubernetes.cri.sandbox-uid\":\"u1\"}}"),
        0);
    CHECK_EQ(state_file_find(&s, r.fd, ID, RUNTIME_UNKNOWN), 0);
    CHECK(s.runtime == RUNTIME_CONTAINERD && s.sandbox);
    CHECK_STR(s.pod, "web-0");
    CHECK_STR(s.namespace_, "prod");
    CHECK_STR(s.uid, "u1");
}

TEST(state_files_that_lie)
{
    CLEANUP(root_free) struct root r = {.fd = -1};
    struct state_file s = {.name = "untouched"};
    char link[128];
    CHECK_EQ(put(&r, "/var/lib/docker/containers/" ID "/config.v2.json", "{\"Name\":"), 0);
    CHECK_EQ(put(&r, "/var/lib/docker/containers/aa/x", ""), 0);
    CHECK_EQ(state_file_find(&s, r.fd, ID, RUNTIME_DOCKER), -EBADMSG);
    CHECK_EQ(state_file_find(&s, r.fd, "../aa", RUNTIME_DOCKER), -EINVAL);
    snprintf(link, sizeof(link), "%s/var/lib/docker/containers/aa/config.v2.json", r.path);
    CHECK_EQ(symlink("/etc/passwd", link), 0);
    CHECK_EQ(state_file_find(&s, r.fd, "aa", RUNTIME_DOCKER), -ENODATA); /* this root has no such file */
    CHECK_STR(s.name, "untouched");
}

/* Something else stands in its place. */
TEST(state_files_that_are_none)
{
    CLEANUP(root_free) struct root r = {.fd = -1};
    struct state_file s;
    CHECK_EQ(put(&r, "/var/lib/docker/containers/" ID "/config.v2.json/x", ""), 0);
    CHECK_EQ(state_file_find(&s, r.fd, ID, RUNTIME_DOCKER), -ENOTSUP);
    CHECK_EQ(put(&r, "/var/lib/docker/containers/aa", ""), 0);
    CHECK_EQ(state_file_find(&s, r.fd, "aa", RUNTIME_DOCKER), -ENODATA);
    CHECK_EQ(put(&r, "/run/containerd/io.containerd.runtime.v2.task", ""), 0);
    CHECK_EQ(state_file_find(&s, r.fd, "aa", RUNTIME_CONTAINERD), -ENODATA);
    CHECK_EQ(state_file_find(&s, r.fd, ID, RUNTIME_UNKNOWN), -ENOTSUP); /* what is wrong is said when nobody has it */
    CHECK_EQ(state_file_find(&s, r.fd, "", RUNTIME_UNKNOWN), -EINVAL);
}
