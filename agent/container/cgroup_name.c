#include "container/cgroup_name.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

struct part { /* a component of the path, or what stands between colons in one */
    const char *s;
    size_t n;
};

static bool is_hex(const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!((s[i] >= '0' && s[i] <= '9') || (s[i] >= 'a' && s[i] <= 'f')))
            return false;
    return true;
}

static bool equals(struct part p, const char *text)
{
    return p.n == strlen(text) && !memcmp(p.s, text, p.n);
}

static bool cut_end(struct part *p, const char *end)
{
    size_t n = strlen(end);
    if (p->n <= n || memcmp(p->s + p->n - n, end, n) != 0)
        return false;
    p->n -= n;
    return true;
}

/* 8-4-4-4-12 hex digits; systemd's names have '_' for '-'. Static pods have the 32 digits of a hash. */
static bool read_uid(struct part p, char out[POD_UID_MAX + 1])
{
    if (p.n != 32 && p.n != POD_UID_MAX)
        return false;
    for (size_t i = 0; i < p.n; i++) {
        bool dash = p.n == POD_UID_MAX && (i == 8 || i == 13 || i == 18 || i == 23);
        if (dash ? p.s[i] != '-' && p.s[i] != '_' : !is_hex(p.s + i, 1))
            return false;
        out[i] = dash ? '-' : p.s[i];
    }
    out[p.n] = 0;
    return true;
}

/* "pod<uid>", or "...-pod<uid>.slice". */
static bool read_pod(struct part p, char out[POD_UID_MAX + 1])
{
    char uid[POD_UID_MAX + 1];
    bool slice = cut_end(&p, ".slice");
    for (size_t n = POD_UID_MAX; n >= 32; n -= POD_UID_MAX - 32) {
        if (p.n < n + 3)
            continue;
        struct part tail = {p.s + p.n - n, n};
        if (memcmp(tail.s - 3, "pod", 3) != 0 || !read_uid(tail, uid))
            continue;
        if (p.n != n + 3 && !(slice && tail.s[-4] == '-'))
            continue;
        memcpy(out, uid, sizeof(uid));
        return true;
    }
    return false;
}

static enum container_runtime runtime_of(struct part prefix)
{
    static const struct {
        const char *prefix;
        enum container_runtime runtime;
    } known[] = {{"cri-containerd", RUNTIME_CONTAINERD},
                 {"nerdctl", RUNTIME_CONTAINERD},
                 {"crio", RUNTIME_CRIO},
                 {"docker", RUNTIME_DOCKER},
                 {"libpod", RUNTIME_PODMAN}};
    for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
        if (equals(prefix, known[i].prefix))
            return known[i].runtime;
    return RUNTIME_UNKNOWN;
}

/* A component that ends in 64 hex digits: alone, or behind PREFIX and '-' or ':'; perhaps with ".scope". True when it
 * is a container's; `parent` helps where there is no prefix. */
static bool read_container(struct part p, struct part parent, struct cgroup_name *out, bool *watcher)
{
    cut_end(&p, ".scope");
    if (p.n < CONTAINER_ID_MAX)
        return false;
    struct part id = {p.s + p.n - CONTAINER_ID_MAX, CONTAINER_ID_MAX}, prefix = {p.s, p.n - CONTAINER_ID_MAX};
    if (!is_hex(id.s, id.n))
        return false;
    if (prefix.n && prefix.s[prefix.n - 1] != '-' && prefix.s[prefix.n - 1] != ':')
        return false;
    prefix.n -= prefix.n > 0;
    *watcher = cut_end(&prefix, "-conmon") || equals(prefix, "conmon");
    if (*watcher)
        return false;
    out->runtime = runtime_of(prefix.n ? prefix : parent);
    memcpy(out->id, id.s, id.n);
    out->id[id.n] = 0;
    return true;
}

/* systemd.unit(5): letters, digits and a few signs; what has others was not made by systemd. */
static bool read_unit(struct part p, char out[UNIT_NAME_MAX + 1])
{
    struct part stem = p;
    if (!cut_end(&stem, ".service") && !cut_end(&stem, ".scope"))
        return false;
    for (size_t i = 0; i < p.n; i++)
        if (p.s[i] <= ' ' || p.s[i] > '~' || strchr("\"'`$&<>|;*?!#%=(){}[]~^,", p.s[i]))
            return false;
    snprintf(out, UNIT_NAME_MAX + 1, "%.*s", (int)(p.n < UNIT_NAME_MAX ? p.n : UNIT_NAME_MAX), p.s);
    return true;
}

/* One component, seen from the left: what it says replaces what stood before. `end` is where it ends in the path. */
static void take(struct cgroup_name *out, struct part p, struct part parent, size_t end)
{
    struct cgroup_name found = {.own = end};
    bool watcher = false;
    if (read_container(p, parent, &found, &watcher)) {
        found.kind = CGROUP_CONTAINER;
        memcpy(found.pod, out->kind == CGROUP_POD ? out->pod : "", out->kind == CGROUP_POD ? sizeof(found.pod) : 1);
        *out = found;
    } else if (watcher) {
        *out = (struct cgroup_name){0};
    } else if (read_pod(p, found.pod)) {
        found.kind = CGROUP_POD;
        *out = found;
    } else if ((out->kind == CGROUP_NONE || out->kind == CGROUP_UNIT) && read_unit(p, found.unit)) {
        found.kind = CGROUP_UNIT;
        *out = found;
    }
}

/* "A.slice:cri-containerd:<id>" in one component: the OCI form for systemd, taken literally by a runtime that does not
 * speak with systemd. Its first part is the pod's, the rest the container's. */
static void take_component(struct cgroup_name *out, struct part p, struct part parent, size_t end)
{
    const char *colon = memchr(p.s, ':', p.n);
    if (!colon) {
        take(out, p, parent, end);
        return;
    }
    struct part slice = {p.s, (size_t)(colon - p.s)}, rest = {colon + 1, p.n - slice.n - 1};
    take(out, slice, parent, end);
    take(out, rest, slice, end);
}

void cgroup_name_parse(struct cgroup_name *out, const char *path, size_t len)
{
    struct part parent = {"", 0};
    *out = (struct cgroup_name){0};
    for (size_t i = 0; i < len;) {
        const char *slash = memchr(path + i, '/', len - i);
        struct part p = {path + i, slash ? (size_t)(slash - path) - i : len - i};
        if (p.n) {
            take_component(out, p, parent, i + p.n);
            parent = p;
        }
        i += p.n + 1;
    }
}

bool cgroup_is_pods(const char *path)
{
    const char *slash = strrchr(path, '/'), *last = slash ? slash + 1 : path;
    struct part p = {last, strlen(last)};
    bool slice = cut_end(&p, ".slice");
    return equals(p, "kubepods") || (slice && cut_end(&p, "-kubepods")); /* systemd: a slice bears its parents' names */
}

/* Is `word` in the comma-separated list? */
static bool listed(const char *list, size_t n, const char *word)
{
    size_t want = strlen(word);
    for (const char *end = list + n; list <= end;) {
        const char *comma = memchr(list, ',', (size_t)(end - list));
        size_t have = (size_t)((comma ? comma : end) - list);
        if (have == want && !memcmp(list, word, want))
            return true;
        list += have + 1;
    }
    return false;
}

int cgroup_line_find(const char *text, const char *controller, const char **path, size_t *len)
{
    for (const char *line = text, *next; *line; line = next) {
        const char *end = strchrnul(line, '\n');
        next = end + (*end == '\n');
        const char *list = memchr(line, ':', (size_t)(end - line));
        const char *at = list ? memchr(list + 1, ':', (size_t)(end - list - 1)) : NULL;
        if (!at || !listed(list + 1, (size_t)(at - list - 1), controller))
            continue;
        struct part p = {at + 1, (size_t)(end - at - 1)};
        cut_end(&p, " (deleted)");
        *path = p.s;
        *len = p.n;
        return 0;
    }
    return -ENOENT;
}

const char *container_runtime_name(enum container_runtime r)
{
    static const char *const names[] = {"unknown", "containerd", "cri-o", "docker", "podman"};
    return (unsigned)r < sizeof(names) / sizeof(*names) ? names[r] : names[0];
}
