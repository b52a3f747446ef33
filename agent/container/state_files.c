#include "container/state_files.h"
#include "base/cleanup.h"
#include "base/fs.h"
#include "base/json.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#define NAMESPACES_MAX 64 /* of containerd: k8s.io, moby, default, ... */
#define CONTAINERD     "/run/containerd/io.containerd.runtime.v2.task"

#define COPY(field, text)                                           \
    do {                                                            \
        const char *text_ = (text);                                 \
        snprintf((field), sizeof(field), "%s", text_ ? text_ : ""); \
    } while (0)

static int load(struct json **out, int root_fd, const char *path)
{
    AUTO_FREE char *text = NULL;
    size_t n = 0;
    int rc = fs_read_in_root(root_fd, path, STATE_FILE_MAX, &text, &n);
    if (rc)
        return rc == -ENOENT || rc == -ENOTDIR ? -ENODATA : rc;
    return json_parse(out, text, n, STATE_FILE_MAX);
}

/* dockerd, daemon/container: name with a slash in front. */
static int find_docker(struct state_file *out, int root_fd, const char *id)
{
    CLEANUP(json_free) struct json *j = NULL;
    char path[128];
    snprintf(path, sizeof(path), "/var/lib/docker/containers/%s/config.v2.json", id);
    int rc = load(&j, root_fd, path);
    if (rc)
        return rc;
    const char *name = json_get_text(j, "Name");
    const struct json *config = json_get(j, "Config"), *labels = json_get(config, "Labels");
    *out = (struct state_file){.runtime = RUNTIME_DOCKER};
    COPY(out->name, name && name[0] == '/' ? name + 1 : name);
    COPY(out->image, json_get_text(config, "Image"));
    COPY(out->image_id, json_get_text(j, "Image"));
    const char *kube = json_get_text(labels, "io.kubernetes.container.name"); /* cri-dockerd */
    if (kube)
        COPY(out->name, kube);
    COPY(out->pod, json_get_text(labels, "io.kubernetes.pod.name"));
    COPY(out->namespace_, json_get_text(labels, "io.kubernetes.pod.namespace"));
    COPY(out->uid, json_get_text(labels, "io.kubernetes.pod.uid"));
    const char *type = json_get_text(labels, "io.kubernetes.docker.type");
    out->sandbox = type && !strcmp(type, "podsandbox");
    return 0;
}

/* containers/storage: a list; what the engine knows more is JSON in a string. */
static void read_storage(struct state_file *out, const struct json *item)
{
    CLEANUP(json_free) struct json *more = NULL;
    const char *metadata = json_get_text(item, "metadata");
    if (metadata && json_parse(&more, metadata, strlen(metadata), STATE_FILE_MAX))
        more = NULL;
    const char *name = json_text(json_item(json_get(item, "names"), 0));
    *out = (struct state_file){.runtime = json_get_text(more, "pod-id") ? RUNTIME_CRIO : RUNTIME_PODMAN};
    COPY(out->name, name ? name : json_get_text(more, "name"));
    COPY(out->image, json_get_text(more, "image-name"));
    COPY(out->image_id, json_get_text(item, "image"));
}

static int find_storage(struct state_file *out, int root_fd, const char *id)
{
    CLEANUP(json_free) struct json *j = NULL;
    int rc = load(&j, root_fd, "/var/lib/containers/storage/overlay-containers/containers.json");
    for (size_t i = 0; !rc && i < json_count(j); i++) {
        const char *its = json_get_text(json_item(j, i), "id");
        if (!its || strcmp(its, id) != 0)
            continue;
        read_storage(out, json_item(j, i));
        return 0;
    }
    return rc ? rc : -ENODATA;
}

/* The annotations that containerd's CRI plugin gives the OCI runtime (pkg/cri/annotations). */
static void read_oci(struct state_file *out, const struct json *j)
{
    const struct json *a = json_get(j, "annotations");
    const char *type = json_get_text(a, "io.kubernetes.cri.container-type"), *name = json_get_text(a, "nerdctl/name");
    *out = (struct state_file){.runtime = RUNTIME_CONTAINERD, .sandbox = type && !strcmp(type, "sandbox")};
    COPY(out->name, name ? name : json_get_text(a, "io.kubernetes.cri.container-name"));
    COPY(out->image, json_get_text(a, "io.kubernetes.cri.image-name"));
    COPY(out->pod, json_get_text(a, "io.kubernetes.cri.sandbox-name"));
    COPY(out->namespace_, json_get_text(a, "io.kubernetes.cri.sandbox-namespace"));
    COPY(out->uid, json_get_text(a, "io.kubernetes.cri.sandbox-uid"));
}

static void cleanup_dir(DIR **d)
{
    if (*d)
        closedir(*d);
}

/* STATE/NAMESPACE/ID/config.json, in whichever namespace. */
static int find_containerd(struct state_file *out, int root_fd, const char *id)
{
    AUTO_CLOSE int fd = fs_open_in_root(root_fd, CONTAINERD, O_RDONLY | O_DIRECTORY);
    CLEANUP(cleanup_dir) DIR *d = fd < 0 ? NULL : fdopendir(fd);
    if (!d)
        return fd == -ENOENT || fd == -ENOTDIR ? -ENODATA : fd < 0 ? fd : -errno;
    TAKE_FD(fd);
    int rc = -ENODATA, left = NAMESPACES_MAX;
    for (struct dirent *e; rc == -ENODATA && left && (e = readdir(d)); left--) {
        CLEANUP(json_free) struct json *j = NULL;
        char path[512];
        if (e->d_name[0] == '.')
            continue;
        snprintf(path, sizeof(path), CONTAINERD "/%s/%s/config.json", e->d_name, id);
        rc = load(&j, root_fd, path);
        if (!rc)
            read_oci(out, j);
    }
    return rc;
}

int state_file_find(struct state_file *out, int root_fd, const char *id, enum container_runtime runtime)
{
    static const struct {
        enum container_runtime writer;
        int (*find)(struct state_file *, int, const char *);
    } places[] = {{RUNTIME_DOCKER, find_docker},
                  {RUNTIME_PODMAN, find_storage},
                  {RUNTIME_CRIO, find_storage},
                  {RUNTIME_CONTAINERD, find_containerd}};
    int rc = -ENODATA;
    if (!id[0] || strspn(id, "0123456789abcdef") != strlen(id) || strlen(id) > CONTAINER_ID_MAX)
        return -EINVAL;
    for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
        if (runtime != RUNTIME_UNKNOWN && runtime != places[i].writer)
            continue;
        if (runtime == RUNTIME_UNKNOWN && places[i].writer == RUNTIME_CRIO)
            continue; /* podman's file, it was read */
        int this = places[i].find(out, root_fd, id);
        if (!this)
            return 0;
        if (rc == -ENODATA)
            rc = this;
    }
    return rc;
}
