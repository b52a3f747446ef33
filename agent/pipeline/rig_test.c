#include "pipeline/rig_test.h"
#include "base/fs.h"
#include "proc/proc.h"
#include <errno.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/sysmacros.h>

bool mapping_of(u64 address, struct xp_mapping *out)
{
    AUTO_FREE char *maps = NULL;
    unsigned long long start, end, offset;
    if (fs_read_file("/proc/self/maps", 1 << 22, &maps, NULL))
        return false;
    for (const char *line = maps; line && *line; line = strchr(line, '\n'), line += line ? 1 : 0)
        if (sscanf(line, "%llx-%llx %*s %llx", &start, &end, &offset) == 3 && address >= start && address < end) {
            *out = (struct xp_mapping){.start = start, .end = end, .pgoff = offset, .tgid = (u32)getpid()};
            return true;
        }
    return false;
}

__attribute__((noinline)) int pipeline_leaf(int x)
{
    __asm__ volatile("" : "+r"(x));
    return x + 1;
}

const char *name_at(const struct profile *p, const struct prof_stack *s, u32 frame)
{
    const struct prof_location *l = &p->locations.v[p->stack_locations.v[s->first + frame]];
    return l->nlines ? profile_text(p, p->functions.v[p->lines.v[l->first_line].function].name) : "";
}

static void on_profile(void *ctx, const struct profile *p)
{
    struct rig *r = ctx;
    for (size_t i = 0; i < p->stacks.n; i++)
        r->samples += p->stacks.v[i].count[0];
    r->hz_period = p->period[0];
    if (p->stacks.n)
        snprintf(r->leaf, sizeof(r->leaf), "%s", name_at(p, &p->stacks.v[0], 0));
    __atomic_add_fetch(&r->profiles, 1, __ATOMIC_RELEASE);
    while (__atomic_load_n(&r->holds, __ATOMIC_ACQUIRE))
        usleep(1000);
}

static void on_cgroup(void *ctx, const struct xp_cgroup_event *e)
{
    ((struct rig *)ctx)->cgroups++;
}

struct xp_file_key rig_key(const struct stat *st)
{
    u32 dev = (u32)(major(st->st_dev) << 20 | minor(st->st_dev));
    return (struct xp_file_key){.ino = st->st_ino, .dev = dev, .size = (u64)st->st_size};
}

void rig_end(struct rig *r)
{
    __atomic_store_n(&r->holds, 0, __ATOMIC_RELEASE);
    pipeline_free(&r->pipeline);
}

int rig_begin(struct rig *r, bool intervals)
{
    char why[256];
    struct stat st;
    r->config = (struct pipeline_config){
        .cache_dir = r->config.cache_dir,
        .cache_bytes = 64 << 20,
        .raw = r->config.raw,
        .aggregate_bytes = r->config.aggregate_bytes ? r->config.aggregate_bytes : 16 << 20,
        .neighbours = r->config.neighbours,
        .probe = {.table_bytes = 16 << 20, .events = {{.hz = HZ, .time = true}}, .nevents = 1, .user = true},
        .events = {event_kind_find("cpu")},
        .prepare_ms = 60000,
    };
    if (intervals)
        r->config.sink = (struct pipeline_sink){.ctx = r, .profile = on_profile, .cgroup = on_cgroup};
    if (!mapping_of((u64)(uintptr_t)pipeline_leaf, &r->text) || stat("/proc/self/exe", &st) ||
        pipeline_new(&r->pipeline, &r->config, why, sizeof(why)))
        return -1;
    openings_settle(r->pipeline->openings, now_ns() + 10 * NS_PER_SEC);
    r->probe = fake_probe();
    r->text.file = FILE_ID;
    r->key = rig_key(&st);
    AUTO_FREE char *path = NULL;
    AUTO_CLOSE int fd = proc_open_mapping((u32)getpid(), r->text.start, r->text.end, &path);
    return fd == -EPERM || fd == -EACCES;
}
void push_file(struct rig *r)
{
    struct xp_file_event e = {.type = XP_RECORD_FILE,
                              .id = FILE_ID,
                              .tgid = (u32)getpid(),
                              .magic = TMPFS_MAGIC,
                              .start = r->text.start,
                              .end = r->text.end,
                              .pgoff = r->text.pgoff,
                              .key = r->key};
    fake_push(r->probe, &e, sizeof(e));
}

u64 word_of(const struct rig *r, u64 address)
{
    return XP_FILE_WORD(XP_WORD_CFI, FILE_ID, address - r->text.start + r->text.pgoff) | XP_WORD_EXACT;
}

struct one_word sample_of(const struct rig *r, u64 word, u8 cause)
{
    return (struct one_word){.s = {.type = XP_RECORD_SAMPLE,
                                   .cpu = 1,
                                   .time = 5,
                                   .count = 1,
                                   .weight = 1000000000 / HZ,
                                   .start = 1,
                                   .tgid = (u32)getpid(),
                                   .tid = (u32)getpid(),
                                   .comm = "unit",
                                   .nuser = 1,
                                   .cause = cause},
                             .word = word};
}

void push_leaf(struct rig *r)
{
    struct one_word s = sample_of(r, word_of(r, (u64)(uintptr_t)pipeline_leaf + 1), XP_CAUSE_END);
    fake_push(r->probe, &s, sizeof(s));
}

unsigned profiles(struct rig *r)
{
    return __atomic_load_n(&r->profiles, __ATOMIC_ACQUIRE);
}
