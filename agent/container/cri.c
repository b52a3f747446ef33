#include "container/cri.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/pb.h"
#include "net/grpc.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#define TIMEOUT_MS 1000
#define SOCKETS    (sizeof(places) / sizeof(*places))

/* containerd, CRI-O, cri-dockerd, and the containerd of k3s, k0s and microk8s. */
static const char *const places[] = {
    "/run/containerd/containerd.sock",     "/run/crio/crio.sock",      "/run/cri-dockerd.sock",
    "/run/k3s/containerd/containerd.sock", "/run/k0s/containerd.sock", "/var/snap/microk8s/common/run/containerd.sock"};

struct cri {
    struct cri_config config;
    struct cri_about about;
    struct grpc *grpc;
    bool known;  /* which version it speaks */
    size_t next; /* place to look at first */
    char *socket;
};

int cri_new(struct cri **out, const struct cri_config *config)
{
    CLEANUP(cri_free) struct cri *c = calloc(1, sizeof(*c));
    if (!c)
        return -ENOMEM;
    c->config = *config;
    c->about.socket = "";
    if (!c->config.timeout_ms)
        c->config.timeout_ms = TIMEOUT_MS;
    if (config->socket) {
        c->socket = strdup(config->socket + (strncmp(config->socket, "unix://", 7) ? 0 : 7));
        if (!c->socket)
            return -ENOMEM;
    }
    *out = TAKE_PTR(c);
    return 0;
}

void cri_free(struct cri **c)
{
    if (*c) {
        grpc_free(&(*c)->grpc);
        free((*c)->socket);
    }
    free(TAKE_PTR(*c));
}

const struct cri_about *cri_about(const struct cri *c)
{
    return &c->about;
}

static void forget(struct cri *c)
{
    grpc_free(&c->grpc);
    c->about.socket = "";
    c->known = false;
}

static int call(struct cri *c, const char *method, const struct buf *request, u64 deadline, struct grpc_reply *r)
{
    char path[96];
    u64 now = now_ns();
    unsigned ms = now < deadline ? (unsigned)((deadline - now) / 1000000) + 1 : 1;
    snprintf(path, sizeof(path), "runtime.%s.RuntimeService/%s", c->about.alpha ? "v1alpha2" : "v1", method);
    c->about.calls++;
    int rc = grpc_call(c->grpc, path, request ? request->data : "", request ? request->len : 0, ms, c->config.stop, r);
    if (rc)
        c->about.errors++;
    return rc;
}

static void malformed(const struct cri *c, const char *method, char *why, size_t why_len)
{
    snprintf(why, why_len, "%s: the response to %s is malformed", c->about.socket, method);
}

/* Which version does it speak, and who is it? */
static int greet(struct cri *c, u64 deadline, char *why, size_t why_len)
{
    int rc = -ENOTSUP;
    for (int alpha = 0; alpha < 2; alpha++) {
        CLEANUP(grpc_reply_free) struct grpc_reply r = {0};
        c->about.alpha = alpha;
        rc = call(c, "Version", NULL, deadline, &r);
        if (rc == -EREMOTEIO && r.status == GRPC_UNIMPLEMENTED)
            continue;
        snprintf(why, why_len, "%s", r.error);
        if (!rc && (rc = cri_version_text(r.body.data, r.body.len, c->about.runtime, sizeof(c->about.runtime))))
            malformed(c, "Version", why, why_len);
        c->known = !rc;
        return rc;
    }
    snprintf(why, why_len, "%s: the server does not implement the container runtime interface", c->about.socket);
    return -ENOTSUP;
}

static int use(struct cri *c, int root_fd, const char *path, u64 deadline, char *why, size_t why_len)
{
    int rc = grpc_new(&c->grpc, root_fd, path, CRI_MESSAGE_MAX);
    c->about.socket = path;
    if (!rc)
        rc = greet(c, deadline, why, why_len);
    if (rc)
        forget(c);
    return rc;
}

static bool is_there(int root_fd, const char *path)
{
    AUTO_CLOSE int fd = root_fd == AT_FDCWD ? open(path, O_PATH | O_CLOEXEC) : fs_open_in_root(root_fd, path, O_PATH);
    return fd >= 0;
}

/* The first place where something answers. One that hangs takes the whole time of this call, so the next begins behind
 * it. */
static int search(struct cri *c, u64 deadline, char *why, size_t why_len)
{
    int rc = -ENOENT;
    snprintf(why, why_len, "no socket of a container runtime was found");
    for (size_t i = 0; i < SOCKETS && now_ns() < deadline; i++) {
        const char *path = places[c->next++ % SOCKETS];
        if (!is_there(c->config.root_fd, path))
            continue;
        rc = use(c, c->config.root_fd, path, deadline, why, why_len);
        if (!rc) {
            c->next--;
            return 0;
        }
    }
    return rc;
}

static int ensure(struct cri *c, u64 deadline, char *why, size_t why_len)
{
    if (c->known)
        return 0;
    if (c->socket)
        return use(c, AT_FDCWD, c->socket, deadline, why, why_len);
    return search(c, deadline, why, why_len);
}

static int fetch(struct cri *c, const char *method, int (*add)(struct cri_list *, const void *, size_t),
                 struct cri_list *out, u64 deadline, char *why, size_t why_len)
{
    CLEANUP(grpc_reply_free) struct grpc_reply r = {0};
    int rc = call(c, method, NULL, deadline, &r);
    if (rc) {
        snprintf(why, why_len, "%s: %s", method, r.error);
        forget(c); /* it may be another one when it is back */
        return rc;
    }
    rc = add(out, r.body.data, r.body.len);
    if (rc)
        malformed(c, method, why, why_len);
    return rc;
}

int cri_fetch(struct cri *c, struct cri_list *out, char *why, size_t why_len)
{
    CLEANUP(cri_list_free) struct cri_list list = {0};
    u64 deadline = now_ns() + (u64)c->config.timeout_ms * 1000000;
    int rc = ensure(c, deadline, why, why_len);
    if (!rc)
        rc = fetch(c, "ListPodSandbox", cri_list_sandboxes, &list, deadline, why, why_len);
    if (!rc)
        rc = fetch(c, "ListContainers", cri_list_containers, &list, deadline, why, why_len);
    if (rc)
        return rc;
    *out = list;
    list = (struct cri_list){0};
    return 0;
}

int cri_image(struct cri *c, const char *id, char *image, size_t size)
{
    CLEANUP(grpc_reply_free) struct grpc_reply r = {0};
    AUTO_BUF struct buf request = {0};
    if (!c->known)
        return -ENOTCONN;
    pb_string(&request, 1, id);
    int rc = call(c, "ContainerStatus", &request, now_ns() + (u64)c->config.timeout_ms * 1000000, &r);
    return rc ? rc : cri_status_image(r.body.data, r.body.len, image, size);
}
