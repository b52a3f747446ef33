#include "container/cgroup_name.h"
#include "base/test.h"
#include <errno.h>

#define ID   "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define ID2  "fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210"
#define UID  "11111111-2222-3333-4444-555555555555"
#define UID_ "11111111_2222_3333_4444_555555555555"
#define HASH "a1b2c3d4e5f60718293a4b5c6d7e8f90"
#define POD_ "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" UID_ ".slice"

static const struct row {
    const char *path;
    enum cgroup_kind kind;
    enum container_runtime runtime;
    const char *id, *pod, *unit;
    size_t below; /* bytes behind the named group */
} rows[] = {
    /* containerd */
    {"/kubepods/burstable/pod" UID "/" ID, CGROUP_CONTAINER, RUNTIME_UNKNOWN, ID, UID, "", 0},
    {"/kubepods/pod" UID "/" ID, CGROUP_CONTAINER, RUNTIME_UNKNOWN, ID, UID, "", 0},
    {"/kubepods/besteffort/pod" HASH "/" ID, CGROUP_CONTAINER, RUNTIME_UNKNOWN, ID, HASH, "", 0},
    {POD_ "/cri-containerd-" ID ".scope", CGROUP_CONTAINER, RUNTIME_CONTAINERD, ID, UID, "", 0},
    {"/user.slice/session-1.scope/kubepods-burstable-pod" UID_ ".slice:cri-containerd:" ID, CGROUP_CONTAINER,
     RUNTIME_CONTAINERD, ID, UID, "", 0},
    {"kubepods-burstable-pod" UID_ ".slice:cri-containerd:" ID, CGROUP_CONTAINER, RUNTIME_CONTAINERD, ID, UID, "", 0},
    {"/e2e-4711/kubepods/besteffort/pod" UID "/" ID, CGROUP_CONTAINER, RUNTIME_UNKNOWN, ID, UID, "", 0},
    {"/default/nerdctl-" ID ".scope", CGROUP_CONTAINER, RUNTIME_CONTAINERD, ID, "", "", 0},
    /* private cgroup namespaces */
    {"/../../pod" UID "/" ID, CGROUP_CONTAINER, RUNTIME_UNKNOWN, ID, UID, "", 0},
    {"/../" ID, CGROUP_CONTAINER, RUNTIME_UNKNOWN, ID, "", "", 0},
    {"/../cri-containerd-" ID ".scope", CGROUP_CONTAINER, RUNTIME_CONTAINERD, ID, "", "", 0},
    {"/../../kubepods-pod" UID_ ".slice/crio-" ID ".scope", CGROUP_CONTAINER, RUNTIME_CRIO, ID, UID, "", 0},
    {"/", CGROUP_NONE, RUNTIME_UNKNOWN, "", "", "", 0},
    /* docker, cri-dockerd */
    {"/docker/" ID, CGROUP_CONTAINER, RUNTIME_DOCKER, ID, "", "", 0},
    {"/system.slice/docker-" ID ".scope", CGROUP_CONTAINER, RUNTIME_DOCKER, ID, "", "", 0},
    {POD_ "/docker-" ID ".scope", CGROUP_CONTAINER, RUNTIME_DOCKER, ID, UID, "", 0},
    /* podman */
    {"/libpod_parent/libpod-" ID, CGROUP_CONTAINER, RUNTIME_PODMAN, ID, "", "", 0},
    {"/machine.slice/libpod-" ID ".scope", CGROUP_CONTAINER, RUNTIME_PODMAN, ID, "", "", 0},
    {"/machine.slice/libpod-" ID ".scope/container", CGROUP_CONTAINER, RUNTIME_PODMAN, ID, "", "", 10},
    {"/machine.slice/libpod-conmon-" ID ".scope", CGROUP_NONE, RUNTIME_UNKNOWN, "", "", "", 0},
    /* CRI-O */
    {POD_ "/crio-" ID ".scope/container", CGROUP_CONTAINER, RUNTIME_CRIO, ID, UID, "", 10},
    {POD_ "/crio-conmon-" ID ".scope", CGROUP_NONE, RUNTIME_UNKNOWN, "", "", "", 0},
    {"/kubepods/pod" UID "/crio-" ID, CGROUP_CONTAINER, RUNTIME_CRIO, ID, UID, "", 0},
    {"/kubepods/pod" UID "/crio-conmon-" ID, CGROUP_NONE, RUNTIME_UNKNOWN, "", "", "", 0},
    /* nested */
    {"/docker/" ID2 POD_ "/crio-" ID ".scope", CGROUP_CONTAINER, RUNTIME_CRIO, ID, UID, "", 0},
    {"/docker/" ID2 "/kubelet/kubepods/pod" UID "/" ID, CGROUP_CONTAINER, RUNTIME_UNKNOWN, ID, UID, "", 0},
    {"/docker/" ID2 "/kubelet/kubepods/pod" UID, CGROUP_POD, RUNTIME_UNKNOWN, "", UID, "", 0},
    {"/docker/" ID "/init.scope", CGROUP_CONTAINER, RUNTIME_DOCKER, ID, "", "", 11},
    {"/docker/" ID "/system.slice/nginx.service", CGROUP_CONTAINER, RUNTIME_DOCKER, ID, "", "", 27},
    /* pods */
    {"/kubepods/burstable/pod" UID, CGROUP_POD, RUNTIME_UNKNOWN, "", UID, "", 0},
    {"/kubepods/pod" HASH, CGROUP_POD, RUNTIME_UNKNOWN, "", HASH, "", 0},
    {POD_, CGROUP_POD, RUNTIME_UNKNOWN, "", UID, "", 0},
    {"/kubepods.slice/kubepods-pod" UID_ ".slice", CGROUP_POD, RUNTIME_UNKNOWN, "", UID, "", 0},
    {"/../../pod" UID, CGROUP_POD, RUNTIME_UNKNOWN, "", UID, "", 0},
    {"/kubepods/pod" UID "/extra.scope", CGROUP_POD, RUNTIME_UNKNOWN, "", UID, "", 12},
    /* units */
    {"/system.slice/nginx.service", CGROUP_UNIT, RUNTIME_UNKNOWN, "", "", "nginx.service", 0},
    {"/system.slice/containerd.service", CGROUP_UNIT, RUNTIME_UNKNOWN, "", "", "containerd.service", 0},
    {"/system.slice/x.service/worker/2", CGROUP_UNIT, RUNTIME_UNKNOWN, "", "", "x.service", 9},
    {"/user.slice/user-0.slice/session-3.scope", CGROUP_UNIT, RUNTIME_UNKNOWN, "", "", "session-3.scope", 0},
    {"/user.slice/user-1000.slice/user@1000.service/app.slice/a\\x2db.service", CGROUP_UNIT, RUNTIME_UNKNOWN, "", "",
     "a\\x2db.service", 0},
    {"/init.scope", CGROUP_UNIT, RUNTIME_UNKNOWN, "", "", "init.scope", 0},
    /* none */
    {"", CGROUP_NONE, RUNTIME_UNKNOWN, "", "", "", 0},
    {"/kubepods", CGROUP_NONE, RUNTIME_UNKNOWN, "", "", "", 0},
    {"/kubepods.slice/kubepods-burstable.slice", CGROUP_NONE, RUNTIME_UNKNOWN, "", "", "", 0},
    {"/podman", CGROUP_NONE, RUNTIME_UNKNOWN, "", "", "", 0},
    {"/docker/0123", CGROUP_NONE, RUNTIME_UNKNOWN, "", "", "", 0},
    {"/x" ID, CGROUP_NONE, RUNTIME_UNKNOWN, "", "", "", 0},     /* 65 characters, no separator */
    {"/xpod" UID, CGROUP_NONE, RUNTIME_UNKNOWN, "", "", "", 0}, /* a name that ends like a pod's */
    {"/a-pod" UID_ "x.slice", CGROUP_NONE, RUNTIME_UNKNOWN, "", "", "", 0},
    {"/.service", CGROUP_NONE, RUNTIME_UNKNOWN, "", "", "", 0},
    {"/a b.service", CGROUP_NONE, RUNTIME_UNKNOWN, "", "", "", 0},
    {"/a\x1b[2J.service", CGROUP_NONE, RUNTIME_UNKNOWN, "", "", "", 0},
    {"///", CGROUP_NONE, RUNTIME_UNKNOWN, "", "", "", 0},
    {"/a/../..", CGROUP_NONE, RUNTIME_UNKNOWN, "", "", "", 0},
};

TEST(cgroup_name_table)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        const struct row *r = &rows[i];
        struct cgroup_name n;
        cgroup_name_parse(&n, r->path, strlen(r->path));
        if (n.kind != r->kind || n.runtime != r->runtime || strcmp(n.id, r->id) != 0 || strcmp(n.pod, r->pod) != 0 ||
            strcmp(n.unit, r->unit) != 0 || (n.kind && n.own + r->below != strlen(r->path)))
            test_fail(__FILE__, __LINE__, "%s is kind %d runtime %s id '%s' pod '%s' unit '%s' own %zu", r->path,
                      n.kind, container_runtime_name(n.runtime), n.id, n.pod, n.unit, n.own);
    }
}

/* As the kernel writes it on a hybrid host; the unified path and the controllers' need not be the same. */
static const char hybrid[] = "9:name=systemd:/kubepods/pod" UID "/" ID
                             "\n"
                             "8:pids:/kubepods/pod" UID "/" ID
                             "\n"
                             "4:cpu,cpuacct:/with:colons\n"
                             "1:memory:/gone (deleted)\n"
                             "0::/unified\n";

TEST(cgroup_line_of_a_hierarchy)
{
    static const struct {
        const char *controller, *path;
    } want[] = {{"", "/unified"},
                {"pids", "/kubepods/pod" UID "/" ID},
                {"cpuacct", "/with:colons"},
                {"cpu", "/with:colons"},
                {"memory", "/gone"}};
    const char *path = NULL;
    size_t n = 0;
    for (size_t i = 0; i < sizeof(want) / sizeof(*want); i++) {
        CHECK_EQ(cgroup_line_find(hybrid, want[i].controller, &path, &n), 0);
        CHECK(n == strlen(want[i].path) && !memcmp(path, want[i].path, n));
    }
    CHECK_EQ(cgroup_line_find(hybrid, "cpuset", &path, &n), -ENOENT);
    CHECK_EQ(cgroup_line_find("1:pids:/x\n", "", &path, &n), -ENOENT);
    CHECK_EQ(cgroup_line_find("", "", &path, &n), -ENOENT);
    CHECK_EQ(cgroup_line_find("0:\nnonsense\n0::/last", "", &path, &n), 0);
    CHECK(n == 5 && !memcmp(path, "/last", 5));
}

TEST(cgroup_name_of_a_cut_path)
{
    struct cgroup_name n;
    const char *path = "/kubepods/pod" UID "/" ID;
    cgroup_name_parse(&n, path, strlen(path) - 1); /* the kernel's copy was too short: the pod still is one */
    CHECK_EQ(n.kind, CGROUP_POD);
    CHECK_STR(n.pod, UID);
    CHECK_STR(n.id, "");
}

TEST(cgroup_name_of_all_pods)
{
    static const char *const are[] = {"/kubepods", "/kubepods.slice", "/docker/ab/kubelet/kubepods",
                                      "/kubelet.slice/kubelet-kubepods.slice"};
    static const char *const are_not[] = {
        "/", "", "/kubepods/burstable", "/kubepods.slice/kubepods-burstable.slice", "/mykubepods.slice", "/x-kubepods"};
    for (size_t i = 0; i < sizeof(are) / sizeof(*are); i++)
        CHECK(cgroup_is_pods(are[i]));
    for (size_t i = 0; i < sizeof(are_not) / sizeof(*are_not); i++)
        CHECK(!cgroup_is_pods(are_not[i]));
}
