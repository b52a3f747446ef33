/* The client against a runtime that the test plays: which socket, which version, what is asked, what goes wrong. */
#include "base/cleanup.h"
#include "base/fs.h"
#include "base/pb.h"
#include "base/test.h"
#include "container/containers.h"
#include "container/cri.h"
#include "net/grpc_server_test.h"
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>

#define CONTAINERD    "/run/containerd/containerd.sock"
#define CRIO          "/run/crio/crio.sock"
#define ID            "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define UNIMPLEMENTED 12

struct runtime {
    struct grpc_server *server;
    const char *name;
    bool v1, alpha;      /* which version it speaks */
    const char *broken;  /* a method whose answer is malformed */
    const char *failing; /* one that fails */
    const char *mute;    /* one that is never answered */
    unsigned calls;      /* in all */
    char image_of[80];   /* the container that was asked for */
};

static void answer_version(const struct runtime *r, struct buf *b)
{
    pb_string(b, 1, "0.1.0");
    pb_string(b, 2, r->name);
    pb_string(b, 3, "1.2.3");
}

static void answer_sandboxes(struct buf *b)
{
    size_t m = pb_begin(b, 1);
    pb_string(b, 1, "s1");
    size_t meta = pb_begin(b, 2);
    pb_string(b, 1, "web-0");
    pb_string(b, 2, "uid-1");
    pb_string(b, 3, "prod");
    pb_end(b, meta);
    pb_end(b, m);
}

static void answer_containers(struct buf *b)
{
    size_t m = pb_begin(b, 1);
    pb_string(b, 1, ID);
    pb_string(b, 2, "s1");
    size_t meta = pb_begin(b, 3);
    pb_string(b, 1, "main");
    pb_end(b, meta);
    pb_string(b, 5, "sha256:aa");
    size_t image = pb_begin(b, 4);
    pb_string(b, 1, "sha256:aa");
    pb_end(b, image);
    pb_end(b, m);
}

static void answer_status(struct runtime *r, const char *request, size_t len, struct buf *b)
{
    if (len > 2) /* one field of text: tag, length, bytes */
        snprintf(r->image_of, sizeof(r->image_of), "%.*s", (int)len - 2, request + 2);
    size_t m = pb_begin(b, 1), image = pb_begin(b, 8);
    pb_string(b, 1, "web:1.2");
    pb_end(b, image);
    pb_end(b, m);
}

static int answer(void *ctx, const char *path, const void *request, size_t len, struct buf *b)
{
    struct runtime *r = ctx;
    const char *method = strrchr(path, '/') + 1;
    __atomic_add_fetch(&r->calls, 1, __ATOMIC_RELAXED);
    if (!(r->v1 && !strncmp(path, "/runtime.v1.RuntimeService/", 27)) &&
        !(r->alpha && !strncmp(path, "/runtime.v1alpha2.RuntimeService/", 33)))
        return UNIMPLEMENTED;
    if (r->mute && !strcmp(method, r->mute))
        return GRPC_MUTE;
    if (r->failing && !strcmp(method, r->failing))
        return 13;
    if (r->broken && !strcmp(method, r->broken))
        buf_str(b, "\xff\xff");
    else if (!strcmp(method, "Version"))
        answer_version(r, b);
    else if (!strcmp(method, "ListPodSandbox"))
        answer_sandboxes(b);
    else if (!strcmp(method, "ListContainers"))
        answer_containers(b);
    else if (!strcmp(method, "ContainerStatus"))
        answer_status(r, request, len, b);
    return 0;
}

struct host { /* a folder in the place of the host's root, with a runtime or two */
    char dir[32];
    int fd;
    struct runtime runtimes[2];
    struct cri *cri;
    struct cri_list list;
    char why[200];
};

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
    return remove(path);
}

static void host_free(struct host *h)
{
    cri_list_free(&h->list);
    cri_free(&h->cri);
    grpc_server_free(&h->runtimes[0].server);
    grpc_server_free(&h->runtimes[1].server);
    if (h->fd > 0)
        close(h->fd);
    nftw(h->dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static int host_new(struct host *h)
{
    snprintf(h->dir, sizeof(h->dir), "/tmp/xprof-host-XXXXXX");
    if (!mkdtemp(h->dir))
        return -1;
    h->fd = open(h->dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    return h->fd < 0 ? -1 : cri_new(&h->cri, &(struct cri_config){.root_fd = h->fd, .timeout_ms = 20000});
}

static int listen_at(struct host *h, struct runtime *r, const char *place)
{
    char path[100];
    snprintf(path, sizeof(path), "%s%s", h->dir, place);
    *strrchr(path, '/') = 0;
    int rc = fs_mkdirs(path);
    path[strlen(path)] = '/';
    return rc ? rc : grpc_server_new(&r->server, path, answer, r);
}

static int fetch(struct host *h)
{
    cri_list_free(&h->list);
    return cri_fetch(h->cri, &h->list, h->why, sizeof(h->why));
}

static unsigned calls(struct runtime *r)
{
    return __atomic_exchange_n(&r->calls, 0, __ATOMIC_RELAXED);
}

#define HOST                                       \
    CLEANUP(host_free) struct host h = {.fd = -1}; \
    CHECK_EQ(host_new(&h), 0)

TEST(cri_fetches_the_lists_of_a_runtime)
{
    HOST;
    h.runtimes[0] = (struct runtime){.name = "containerd", .v1 = true};
    CHECK_EQ(listen_at(&h, &h.runtimes[0], CONTAINERD), 0);
    CHECK_STR(cri_about(h.cri)->socket, "");
    CHECK_STR(cri_about(h.cri)->runtime, "");
    CHECK_EQ(fetch(&h), 0);
    CHECK_STR(cri_about(h.cri)->socket, CONTAINERD);
    CHECK_STR(cri_about(h.cri)->runtime, "containerd 1.2.3");
    CHECK(!cri_about(h.cri)->alpha);
    CHECK_EQ(h.list.sandboxes.n, 1);
    CHECK_STR(h.list.sandboxes.v[0].name, "web-0");
    CHECK_EQ(h.list.containers.n, 1);
    CHECK_STR(h.list.containers.v[0].id, ID);
    CHECK_EQ(calls(&h.runtimes[0]), 3);
    CHECK_EQ(fetch(&h), 0); /* it is known now */
    CHECK_EQ(calls(&h.runtimes[0]), 2);
    CHECK_EQ(cri_about(h.cri)->calls, 5);
    CHECK_EQ(cri_about(h.cri)->errors, 0);
}

TEST(cri_speaks_the_older_version_where_need_be)
{
    HOST;
    char image[32] = "";
    h.runtimes[0] = (struct runtime){.name = "cri-o", .alpha = true};
    CHECK_EQ(listen_at(&h, &h.runtimes[0], CRIO), 0);
    CHECK_EQ(fetch(&h), 0);
    CHECK(cri_about(h.cri)->alpha);
    CHECK_EQ(h.list.containers.n, 1);
    CHECK_EQ(cri_about(h.cri)->calls, 4);
    CHECK_EQ(cri_about(h.cri)->errors, 1);
    CHECK_EQ(cri_image(h.cri, ID, image, sizeof(image)), 0);
    CHECK_STR(image, "web:1.2");
}

/* Docker's containerd has no such interface; the next place is looked at, and remembered. */
TEST(cri_goes_on_to_the_next_socket)
{
    HOST;
    h.runtimes[0] = (struct runtime){.name = "docker's"};
    h.runtimes[1] = (struct runtime){.name = "cri-o", .v1 = true};
    CHECK_EQ(listen_at(&h, &h.runtimes[0], CONTAINERD), 0);
    CHECK_EQ(fetch(&h), -ENOTSUP);
    CHECK_STR(h.why, CONTAINERD ": the server does not implement the container runtime interface");
    CHECK_STR(cri_about(h.cri)->socket, "");
    CHECK_EQ(calls(&h.runtimes[0]), 2);
    CHECK_EQ(listen_at(&h, &h.runtimes[1], CRIO), 0);
    CHECK_EQ(fetch(&h), 0);
    CHECK_STR(cri_about(h.cri)->socket, CRIO);
    CHECK_EQ(calls(&h.runtimes[0]), 2);
    CHECK_EQ(calls(&h.runtimes[1]), 3);
    h.runtimes[1].failing = "ListContainers";
    CHECK_EQ(fetch(&h), -EREMOTEIO);
    CHECK(!strncmp(h.why, "ListContainers: ", 16) && strlen(h.why) > 18);
    CHECK_EQ(h.list.sandboxes.n, 0); /* both lists or none */
    CHECK_STR(cri_about(h.cri)->socket, "");
    CHECK_EQ(calls(&h.runtimes[1]), 2);
    h.runtimes[1].failing = NULL;
    CHECK_EQ(fetch(&h), 0);
    CHECK_STR(cri_about(h.cri)->socket, CRIO); /* the search begins where it ended */
    CHECK_EQ(calls(&h.runtimes[0]), 0);
    CHECK_EQ(calls(&h.runtimes[1]), 3);
}

TEST(cri_answers_that_are_malformed)
{
    static const char *const methods[] = {"Version", "ListPodSandbox", "ListContainers"};
    for (size_t i = 0; i < sizeof(methods) / sizeof(*methods); i++) {
        HOST;
        char expected[128];
        h.runtimes[0] = (struct runtime){.name = "x", .v1 = true, .alpha = true, .broken = methods[i]};
        CHECK_EQ(listen_at(&h, &h.runtimes[0], CRIO), 0);
        CHECK_EQ(fetch(&h), -EBADMSG);
        snprintf(expected, sizeof(expected), CRIO ": the response to %s is malformed", methods[i]);
        CHECK_STR(h.why, expected);
        CHECK_EQ(calls(&h.runtimes[0]), i + 1);
        CHECK_EQ(h.list.sandboxes.n + h.list.containers.n, 0);
    }
}

/* The time is the whole call's; who hangs at the first question is not asked the second one. */
TEST(cri_runtime_that_hangs)
{
    static const char *const methods[] = {"Version", "ListPodSandbox", "ListContainers"};
    for (size_t i = 0; i < sizeof(methods) / sizeof(*methods); i++) {
        HOST;
        CLEANUP(cri_free) struct cri *hasty = NULL;
        char path[100];
        h.runtimes[0] = (struct runtime){.name = "x", .v1 = true, .mute = methods[i]};
        CHECK_EQ(listen_at(&h, &h.runtimes[0], CRIO), 0);
        snprintf(path, sizeof(path), "unix://%s" CRIO, h.dir);
        CHECK_EQ(cri_new(&hasty, &(struct cri_config){.socket = path, .timeout_ms = 200}), 0);
        CHECK_EQ(cri_fetch(hasty, &h.list, h.why, sizeof(h.why)), -ETIMEDOUT);
        CHECK(h.why[0]);
        CHECK_STR(cri_about(hasty)->socket, "");
        CHECK_EQ(cri_about(hasty)->errors, 1);
    }
}

TEST(cri_image_of_a_container)
{
    HOST;
    char image[32] = "untouched";
    h.runtimes[0] = (struct runtime){.name = "x", .v1 = true};
    CHECK_EQ(listen_at(&h, &h.runtimes[0], CRIO), 0);
    CHECK_EQ(cri_image(h.cri, ID, image, sizeof(image)), -ENOTCONN); /* it connects to nothing by itself */
    CHECK_EQ(fetch(&h), 0);
    CHECK_EQ(cri_image(h.cri, ID, image, sizeof(image)), 0);
    CHECK_STR(image, "web:1.2");
    CHECK_STR(h.runtimes[0].image_of, ID);
    h.runtimes[0].broken = "ContainerStatus";
    CHECK_EQ(cri_image(h.cri, ID, image, sizeof(image)), -EBADMSG);
    h.runtimes[0].failing = "ContainerStatus";
    CHECK_EQ(cri_image(h.cri, ID, image, sizeof(image)), -EREMOTEIO);
    CHECK_STR(image, "web:1.2");
    CHECK_EQ(fetch(&h), 0);
    CHECK_EQ(cri_about(h.cri)->calls, 3 + 3 + 2); /* the lists come from where they came from */
}

/* The registry asks it, when nobody says otherwise. */
TEST(cri_names_the_containers_of_the_registry)
{
    HOST;
    CLEANUP(containers_free) struct containers *c = NULL;
    struct containers_config config = {.hierarchy = {.mount = "/nowhere"}, .host_root = h.dir, .cri_timeout_ms = 20000};
    struct containers_stats st;
    const u64 sec = 1000000000;
    h.runtimes[0] = (struct runtime){.name = "containerd", .v1 = true};
    CHECK_EQ(listen_at(&h, &h.runtimes[0], CONTAINERD), 0);
    CHECK_EQ(containers_new(&c, &config, &(struct containers_handlers){0}), 0);
    containers_cgroup_made(c, 0, 12, "/docker/" ID, 2 * sec);
    containers_tick(c, 3 * sec);
    const struct container *one = containers_find(c, 12);
    CHECK(one);
    CHECK_STR(one->name, "main");
    CHECK_STR(one->pod, "web-0");
    CHECK_STR(one->image, "web:1.2"); /* a call of its own: the list has the digest */
    containers_stats(c, &st);
    CHECK_STR(st.runtime, "containerd 1.2.3");
    CHECK_EQ(st.answered, 1);
}
