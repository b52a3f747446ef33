/* The eBPF objects of kinds (bpf/kinds/): loading and sharing their maps. They are known by name only, so that a kind
 * is added by its file.
 */
#include "base/cleanup.h"
#include "probe/kinds.h"
#include "bpf/cost.h"
#include "probe/object.h"
#include "probe/object_options.h"
#include "probe/places.h"
#include "probe/probe_internal.h"
#include "kinds.skel.h" /* made of bpf/kinds/ by the Makefile */
#include "xprof.skel.h"
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <errno.h>
#include <string.h>

const char *const KIND_COMMON_MAPS[KIND_COMMON] = {"scratch", "pc_cache", "depth", "told_stacks", "wait_groups"};

static struct bpf_object *open_object(const char *kind, const char *form)
{
    char name[64];
    snprintf(name, sizeof(name), "%s%s", kind, form);
    for (size_t i = 0; i < sizeof(KIND_OBJECTS) / sizeof(*KIND_OBJECTS); i++) {
        size_t size;
        const void *bytes = KIND_OBJECTS[i].bytes(&size);
        if (!strcmp(KIND_OBJECTS[i].name, name))
            return bpf_object__open_mem(bytes, size, object_options());
    }
    errno = ENOENT;
    return NULL;
}

/* The place of a variable in a section of an object; 0 bytes before its beginning: -1. */
static ssize_t offset_of(const struct bpf_object *object, const char *section, const char *variable)
{
    const struct btf *btf = bpf_object__btf(object);
    int id = btf ? btf__find_by_name_kind(btf, section, BTF_KIND_DATASEC) : -1;
    const struct btf_type *t = id > 0 ? btf__type_by_id(btf, (u32)id) : NULL;
    const struct btf_var_secinfo *v = t ? btf_var_secinfos(t) : NULL;
    for (int i = 0; v && i < btf_vlen(t); i++) {
        const struct btf_type *var = btf__type_by_id(btf, v[i].type);
        if (var && !strcmp(btf__name_by_offset(btf, var->name_off), variable))
            return v[i].offset;
    }
    return -1;
}

/* Sets a variable of the read-only data, before loading. */
static int set_constant(struct bpf_object *object, const char *name, const void *value, size_t len)
{
    struct bpf_map *m;
    size_t size;
    ssize_t at = offset_of(object, ".rodata", name);
    bpf_object__for_each_map(m, object)
    {
        if (!strstr(bpf_map__name(m), ".rodata"))
            continue;
        char *place = (char *)bpf_map__initial_value(m, &size);
        if (!place || at < 0 || (size_t)at + len > size)
            break;
        memcpy(place + at, value, len);
        return 0;
    }
    return -EINVAL;
}

/* Whether this kernel has the tracepoint of a program (SEC("tp_btf/NAME") or SEC("raw_tp/NAME")). */
static bool has_target(const struct btf *kernel, const struct bpf_program *program)
{
    char type[128];
    const char *section = bpf_program__section_name(program), *slash = strchr(section, '/');
    section += section[0] == '?';
    if (!slash || (strncmp(section, "tp_btf/", 7) != 0 && strncmp(section, "raw_tp/", 7) != 0))
        return true;
    snprintf(type, sizeof(type), "btf_trace_%s", slash + 1);
    return btf__find_by_name_kind(kernel, type, BTF_KIND_TYPEDEF) > 0;
}

/* Programs whose section begins with a question mark are loaded where the kernel has what they attach to. */
static void choose_programs(struct bpf_object *object)
{
    struct btf *kernel = btf__load_vmlinux_btf();
    struct bpf_program *program;
    bpf_object__for_each_program(program, object)
    {
        if (kernel && !bpf_program__autoload(program))
            bpf_program__set_autoload(program, has_target(kernel, program));
    }
    btf__free(kernel);
}

bool kind_is_slotted(const struct bpf_object *object)
{
    return bpf_object__find_map_by_name(object, "slot_taken") != NULL;
}

/* Kernels with uprobe_multi links can do without preparing all entries of a map. */
static int take_as_needed(struct bpf_object *object)
{
    static const char *const names[] = {"sums0", "sums1", "told_stacks", "wait_groups"};
    int rc = 0;
    for (size_t i = 0; i < sizeof(names) / sizeof(*names) && !rc; i++) {
        struct bpf_map *m = bpf_object__find_map_by_name(object, names[i]);
        rc = m ? bpf_map__set_map_flags(m, bpf_map__map_flags(m) | BPF_F_NO_PREALLOC) : -ENOENT;
    }
    return rc;
}

static int size_maps(struct bpf_object *object, const struct probe *p, enum probe_links means)
{
    static const char *const per_level[] = {"scratch", "pc_cache", "slot_taken"};
    bool slotted = kind_is_slotted(object);
    u32 states = slotted ? XP_SLOTS((u32)p->ncpus) : (u32)p->ncpus * XP_LEVELS;
    int rc = 0;
    for (size_t i = 0; i < 2u + slotted && !rc; i++) {
        struct bpf_map *m = bpf_object__find_map_by_name(object, per_level[i]);
        rc = m ? bpf_map__set_max_entries(m, states) : -ENOENT;
    }
    return rc || !slotted || means != PROBE_LINKS_MULTI ? rc : take_as_needed(object);
}

/* All kinds share what the first object has, except for what belongs to their own levels, which they share among
 * themselves. `other`: the object of another kind, or NULL. */
static int share_maps(struct bpf_object *object, struct bpf_object *first, struct bpf_object *other)
{
    const struct bpf_map *own[KIND_COMMON + 1] = {NULL};
    size_t n = 0;
    if (kind_is_slotted(object))
        other = NULL;
    for (size_t i = 0; i < KIND_COMMON; i++) {
        struct bpf_map *m = bpf_object__find_map_by_name(object, KIND_COMMON_MAPS[i]);
        int rc = m && other ? bpf_map__reuse_fd(m, bpf_object__find_map_fd_by_name(other, KIND_COMMON_MAPS[i])) : 0;
        if (rc)
            return rc;
        if (m)
            own[n++] = m;
    }
    return object_share_maps(object, first, own);
}

/* Of others than those that are probed from the start, places are found in files later. */
enum probe_links kind_means(const struct probe *p, size_t event)
{
    static const struct probe_places later = {0};
    const struct probe_places *places = p->config.events[event].places;
    return places_means(p->config.links, places && !places->file ? places : &later);
}

int kind_load(struct bpf_object **out, const struct probe *p, const char *name, const struct xp_config *config,
              struct bpf_object *other)
{
    const struct xp_tp *conditions = p->config.events[config->event].conditions;
    const struct probe_places *places = p->config.events[config->event].places;
    enum probe_links means = kind_means(p, config->event);
    bool known = places && !places->file, plain = known && means == PROBE_LINKS_PLAIN && !places->kernel;
    const char *form = plain ? "_plain" : places && places->file ? "_mapped" : "";
    struct xp_config own = *config;
    own.preempted |= plain && object_kernel_has("bpf_preempt_disable", BTF_KIND_FUNC);
    CLEANUP(kind_unload) struct bpf_object *object = open_object(name, form);
    if (!object)
        return -errno;
    int rc = set_constant(object, "xp_config", &own, sizeof(own));
    if (!rc && conditions)
        rc = set_constant(object, "xp_tp", conditions, sizeof(*conditions));
    choose_programs(object);
    if (!rc && (kind_is_slotted(object) || known))
        rc = places_prepare(object, means, known ? places : NULL);
    if (!rc)
        rc = size_maps(object, p, means);
    if (!rc)
        rc = kmem_prepare(object, p);
    if (!rc)
        rc = usdt_prepare(object, places, conditions ? conditions->arguments : 0, plain);
    if (!rc)
        rc = share_maps(object, p->skel->obj, other);
    if (!rc)
        rc = bpf_object__load(object);
    if (!rc && kind_is_slotted(object))
        rc = heap_configure(object, p, config->event);
    if (!rc)
        rc = kmem_configure(object, p);
    if (!rc)
        rc = usdt_configure(object, places);
    if (!rc)
        *out = TAKE_PTR(object);
    return rc;
}

void kind_unload(struct bpf_object **object)
{
    bpf_object__close(*object);
    *object = NULL;
}

static bool is_common(const char *name)
{
    for (size_t i = 0; i < KIND_COMMON; i++)
        if (!strcmp(KIND_COMMON_MAPS[i], name))
            return true;
    return false;
}

u64 kind_map_bytes(struct bpf_object *object, const struct probe *p, bool common)
{
    struct bpf_map *m;
    u64 sum = 0;
    bpf_object__for_each_map(m, object)
    {
        const char *name = bpf_map__name(m);
        bool shared = bpf_object__find_map_by_name(p->skel->obj, name) || bpf_map__is_internal(m);
        if (is_common(name) ? common : !common && !shared)
            sum += probe_map_memlock(bpf_map__fd(m));
    }
    return sum;
}

int kind_cost(const struct bpf_map *map, int cpus, u64 trap_ns, u64 *hits, u64 *ns)
{
    AUTO_FREE struct xp_cost *cpu = calloc((size_t)cpus, sizeof(*cpu));
    struct xp_cost sum = {0};
    u32 zero = 0;
    if (!cpu)
        return -ENOMEM;
    if (bpf_map_lookup_elem(bpf_map__fd(map), &zero, cpu))
        return -errno;
    for (int i = 0; i < cpus; i++) {
        sum.hits += cpu[i].hits;
        sum.timed += cpu[i].timed;
        sum.ns += cpu[i].ns;
    }
    *hits = sum.hits;
    *ns = sum.hits * trap_ns + (sum.timed ? (u64)((double)sum.ns / (double)sum.timed * (double)sum.hits) : 0);
    return 0;
}
