/* Whose a cgroup is: by its path, which whoever may make groups below a container can make up. */
#include "container/containers_internal.h"
#include <stdio.h>
#include <string.h>

static bool is_climbing(const char *path)
{
    return !strncmp(path, "/..", 3);
}

/* The innermost container around the group that is named, other than itself; kind CGROUP_NONE: there is none. */
static struct cgroup_name container_around(const struct cgroup_name *n, const char *path)
{
    struct cgroup_name around = *n;
    for (size_t end = n->own; end; end = around.own) {
        while (end && path[end - 1] != '/')
            end--;
        cgroup_name_parse(&around, path, end);
        if (around.kind == CGROUP_CONTAINER && strcmp(around.id, n->id) != 0)
            return around;
    }
    return (struct cgroup_name){0};
}

/* Who may make groups below his container can give them any name, another's that lives elsewhere, too: such a group is
 * still the container's around it. */
static void see_through(const struct containers *c, const char *path, struct cgroup_name *n)
{
    const struct entry *e = containers_named(c, n, path);
    if (!e || n->kind == CGROUP_UNIT || is_climbing(e->c.path) != is_climbing(path))
        return;
    if (strlen(e->c.path) == n->own && !memcmp(e->c.path, path, n->own))
        return;
    struct cgroup_name around = container_around(n, path);
    if (around.kind == CGROUP_CONTAINER)
        *n = around;
}

/* The entry to which a group belongs, made when it is not there yet. A second group of the same name is the next life
 * of a container that was started again under its id. */
static struct entry *owner_of(struct containers *c, u64 cgroup, const char *path, const struct cgroup_name *n, u64 now)
{
    struct entry *e = containers_named(c, n, path);
    char own_path[4096];
    u64 own = cgroup;
    if (e && (path[n->own] || e->c.cgroup == cgroup))
        return e;
    if (e)
        containers_end(c, e, now);
    snprintf(own_path, sizeof(own_path), "%.*s", (int)n->own, path);
    if (path[n->own] && hierarchy_id_of(&c->config.hierarchy, 0, own_path, &own))
        own = cgroup; /* out of sight: the first group that is seen stands for it */
    struct entry *old = containers_entry(c, own);
    if (old)
        containers_drop(c, old);
    return containers_add_entry(c, own, path, n->own, now);
}

/* It was first seen from inside of a cgroup namespace; now the whole path is known. */
static void set_path(struct entry *e, const char *path, size_t len)
{
    char *whole = strndup(path, len);
    if (!whole)
        return;
    free(e->c.path);
    e->c.path = whole;
    e->c.is.own = len;
}

struct entry *containers_add(struct containers *c, u64 cgroup, const char *path, u64 now, bool late)
{
    struct cgroup_name n;
    struct entry *e = containers_entry(c, cgroup);
    cgroup_name_parse(&n, path, strlen(path));
    see_through(c, path, &n);
    if (e && !e->c.ended_ns && containers_is_same(e, &n, path)) {
        e->scan = c->scan;
        if (is_climbing(e->c.path) && !is_climbing(path))
            set_path(e, path, n.own);
        return e;
    }
    if (e) /* the kernel gave the id to another group: what we know under it is over */
        containers_drop(c, e);
    if (n.kind == CGROUP_NONE)
        return NULL;
    e = owner_of(c, cgroup, path, &n, now);
    if (!e)
        return NULL;
    e->scan = c->scan;
    c->stats.found_late += late;
    if (!containers_entry(c, cgroup))
        containers_add_node(c, cgroup, e);
    return e;
}
