#include "probe/fake_test.h"
#include "base/cleanup.h"
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct record {
    void *data;
    size_t len;
};

struct probe {
    pthread_mutex_t lock; /* as maps of the kernel may be used by any thread */
    struct probe_config config;
    struct shard_space tables;
    struct xp_rule *rules;
    VEC(struct record) ring;
    VEC(struct fake_published) files;
    VEC(struct fake_region) regions;
    probe_mappings mappings;
    VEC(struct probe_wait) waits;
    VEC(struct xp_sleeper) sleepers;
    struct xp_stats stats;
    u64 malformed;
    unsigned forgotten, changes, rescans, hz;
    int refuses_files, refuses_tables; /* -errno */
    u64 run_ns, runs;
    struct map cgroup_files;
};

static struct probe *newest;

struct probe *fake_probe(void)
{
    return newest;
}

static int add_shard(void *ctx, u32 number)
{
    AUTO_CLOSE int fd = memfd_create("shard", MFD_CLOEXEC);
    if (fd < 0 || ftruncate(fd, (off_t)4 << XP_SHARD_SHIFT))
        return -errno;
    return TAKE_FD(fd);
}

int probe_new(struct probe **out, const struct probe_config *config, char *why, size_t why_len)
{
    struct probe *p = calloc(1, sizeof(*p));
    if (!p)
        return -ENOMEM;
    p->config = *config;
    pthread_mutex_init(&p->lock, NULL);
    p->rules = calloc(XP_MAX_RULES, sizeof(*p->rules));
    struct shards_config c = {.bytes = config->table_bytes, .rules = p->rules, .ctx = p, .add = add_shard};
    int rc = p->rules ? shards_init(&p->tables, &c) : -ENOMEM;
    if (rc)
        probe_free(&p);
    else
        *out = newest = p;
    return rc;
}

void probe_free(struct probe **pp)
{
    struct probe *p = *pp;
    if (!p)
        return;
    shards_fini(&p->tables);
    for (size_t i = 0; i < p->ring.n; i++)
        free(p->ring.v[i].data);
    vec_free(&p->ring);
    vec_free(&p->files);
    vec_free(&p->regions);
    vec_free(&p->mappings);
    vec_free(&p->waits);
    vec_free(&p->sleepers);
    map_free(&p->cgroup_files);
    free(p->rules);
    pthread_mutex_destroy(&p->lock);
    free(p);
    *pp = newest = NULL;
}

/* ---- The ring ---- */

void fake_push(struct probe *p, const void *record, size_t len)
{
    pthread_mutex_lock(&p->lock);
    struct record *r = VEC_PUSH(&p->ring);
    if (r && (r->data = malloc(len)))
        memcpy(r->data, record, r->len = len);
    p->stats.samples += *(const u32 *)record == XP_RECORD_SAMPLE;
    pthread_mutex_unlock(&p->lock);
}

static bool take(struct probe *p, struct record *out)
{
    pthread_mutex_lock(&p->lock);
    bool some = p->ring.n;
    if (some) {
        *out = p->ring.v[0];
        memmove(p->ring.v, p->ring.v + 1, --p->ring.n * sizeof(*out));
    }
    pthread_mutex_unlock(&p->lock);
    return some;
}

int probe_poll(struct probe *p, const struct probe_handlers *h, int timeout_ms)
{
    struct record r;
    int n = 0;
    for (; take(p, &r); n++) {
        p->malformed += !record_dispatch(h, r.data, r.len);
        free(r.data);
    }
    if (!n && timeout_ms > 0)
        usleep(1000);
    return n;
}

/* ---- Files and tables ---- */

static struct fake_published *find(struct probe *p, const struct xp_file_key *key)
{
    for (size_t i = 0; i < p->files.n; i++)
        if (!memcmp(&p->files.v[i].key, key, sizeof(*key)))
            return &p->files.v[i];
    return NULL;
}

struct xp_file fake_file(struct probe *p, const struct xp_file_key *key)
{
    pthread_mutex_lock(&p->lock);
    struct fake_published *f = find(p, key);
    struct xp_file value = f ? f->value : (struct xp_file){0};
    pthread_mutex_unlock(&p->lock);
    return value;
}

static void set_file(struct probe *p, const struct xp_file_key *key, struct xp_file value)
{
    pthread_mutex_lock(&p->lock);
    struct fake_published *f = find(p, key);
    if (!f && (f = VEC_PUSH(&p->files)))
        f->key = *key;
    if (f)
        f->value = value;
    pthread_mutex_unlock(&p->lock);
}

int probe_publish(struct probe *p, const struct xp_file_key *key, u32 id, enum xp_file_state state,
                  const struct probe_table *table, struct xp_file *out)
{
    if (p->refuses_files)
        return p->refuses_files;
    *out = shards_file(id, state, table);
    set_file(p, key, *out);
    return 0;
}

int probe_republish(struct probe *p, const struct xp_file_key *key, const struct xp_file *value)
{
    set_file(p, key, *value);
    return 0;
}

int probe_publish_vdso(struct probe *p, const struct probe_table *table, struct xp_file *out)
{
    *out = shards_file(XP_FILE_VDSO, XP_FILE_READY, table);
    return 0;
}

int probe_publish_region(struct probe *p, const struct xp_region_key *key, const struct probe_table *table,
                         struct xp_file *out)
{
    struct fake_region *r = NULL;
    for (size_t i = 0; i < p->regions.n && !r; i++)
        r = memcmp(&p->regions.v[i].key, key, sizeof(*key)) ? NULL : &p->regions.v[i];
    if (!r && !(r = VEC_PUSH(&p->regions)))
        return -ENOMEM;
    *out = shards_file(0, XP_FILE_READY, table);
    out->flags |= XP_FILE_GENERATED;
    *r = (struct fake_region){*key, *out};
    return 0;
}

void probe_forget_region(struct probe *p, const struct xp_region_key *key)
{
    for (size_t i = 0; i < p->regions.n; i++)
        if (!memcmp(&p->regions.v[i].key, key, sizeof(*key)))
            p->regions.v[i] = p->regions.v[--p->regions.n];
}

const struct fake_region *fake_regions(const struct probe *p, size_t *n)
{
    *n = p->regions.n;
    return p->regions.v;
}

void probe_forget(struct probe *p, const struct xp_file_key *key)
{
    set_file(p, key, (struct xp_file){0});
    __atomic_add_fetch(&p->forgotten, 1, __ATOMIC_RELAXED);
}

unsigned fake_forgotten(struct probe *p)
{
    return __atomic_load_n(&p->forgotten, __ATOMIC_RELAXED);
}

void probe_files_changed(struct probe *p)
{
    __atomic_add_fetch(&p->changes, 1, __ATOMIC_RELAXED);
}

unsigned fake_changes(struct probe *p)
{
    return __atomic_load_n(&p->changes, __ATOMIC_RELAXED);
}

void fake_refuse_files(struct probe *p, int error)
{
    p->refuses_files = error;
}

void fake_refuse_tables(struct probe *p, int error)
{
    p->refuses_tables = error;
}

struct shard_space *fake_shards(struct probe *p)
{
    return &p->tables;
}

int probe_table_load(struct probe *p, u64 owner, const struct xp_table *image, struct probe_table *out)
{
    return p->refuses_tables ? p->refuses_tables : shards_load(&p->tables, owner, image, out);
}

void probe_table_free(struct probe *p, const struct probe_table *t)
{
    shards_free(&p->tables, t);
}

bool probe_over_share(const struct probe *p, u64 owner)
{
    return shards_over_share(&p->tables, owner);
}

void probe_count_files(struct probe *p, u64 cgroup, u32 n)
{
    u64 *count = map_put(&p->cgroup_files, cgroup);
    if (count)
        *count = n;
}

u32 fake_cgroup_files(struct probe *p, u64 cgroup)
{
    const u64 *count = map_get(&p->cgroup_files, cgroup);
    return count ? (u32)*count : 0;
}

void probe_tables_rest(struct probe *p)
{
    shards_rest(&p->tables);
}

const u32 *probe_shard_words(struct probe *p, u32 *limit)
{
    return shards_words(&p->tables, limit);
}

const struct xp_rule *probe_rule_array(const struct probe *p)
{
    return p->rules;
}

void fake_map(struct probe *p, const struct xp_mapping *m)
{
    struct xp_listed *place = VEC_PUSH(&p->mappings);
    if (place)
        *place = (struct xp_listed){.at = *m};
}

int probe_list_mappings(struct probe *p, u32 tgid, probe_mappings *out)
{
    for (size_t i = 0; i < p->mappings.n; i++) {
        struct xp_listed *m = VEC_PUSH(out);
        if (m)
            *m = p->mappings.v[i];
    }
    return 0;
}

/* ---- What has no other side here ---- */

int probe_start(struct probe *p, char *why, size_t why_len)
{
    why[0] = 0;
    return 0;
}

int probe_rescan(struct probe *p, char *why, size_t why_len)
{
    why[0] = 0;
    p->rescans++;
    return 0;
}

unsigned fake_rescans(const struct probe *p)
{
    return p->rescans;
}

int probe_set_rate(struct probe *p, unsigned hz)
{
    p->hz = hz;
    return 0;
}

unsigned fake_rate(struct probe *p)
{
    return p->hz;
}

int probe_event_by(const struct probe *p, enum probe_how how)
{
    for (size_t e = 0; e < p->config.nevents; e++)
        if (p->config.events[e].how == how)
            return (int)e;
    return -1;
}

void fake_wait(struct probe *p, const struct probe_wait *w)
{
    struct probe_wait *place = VEC_PUSH(&p->waits);
    if (place)
        *place = *w;
}

void fake_sleeper(struct probe *p, const struct xp_sleeper *z)
{
    struct xp_sleeper *place = VEC_PUSH(&p->sleepers);
    if (place)
        *place = *z;
}

void probe_waits_free(struct probe_waits *w)
{
    vec_free(&w->sums);
    vec_free(&w->sleepers);
    vec_free(&w->mappings);
}

int probe_take_waits(struct probe *p, const struct probe_handlers *h, struct probe_waits *out)
{
    for (size_t i = 0; i < p->waits.n; i++) {
        struct probe_wait *w = VEC_PUSH(&out->sums);
        if (w)
            *w = p->waits.v[i];
    }
    for (size_t i = 0; i < p->sleepers.n; i++) {
        struct xp_sleeper *z = VEC_PUSH(&out->sleepers);
        if (z)
            *z = p->sleepers.v[i];
    }
    p->waits.n = p->sleepers.n = 0;
    return 0;
}

int probe_stats(const struct probe *p, struct xp_stats *out)
{
    *out = p->stats;
    return 0;
}

void fake_count(struct probe *p, const struct xp_stats *stats, u64 run_ns, u64 runs)
{
    p->stats = *stats;
    p->run_ns = run_ns;
    p->runs = runs;
}

u64 probe_malformed(const struct probe *p)
{
    return p->malformed;
}

void probe_run_time(const struct probe *p, u64 *ns, u64 *runs)
{
    *ns = p->run_ns;
    *runs = p->runs;
}

u64 probe_map_bytes(const struct probe *p)
{
    return (u64)p->tables.nshards * 4 << XP_SHARD_SHIFT;
}
