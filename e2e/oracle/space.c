#include "space.h"
#include "base/cleanup.h"
#include "base/fs.h"
#include "cfi/table.h"
#include "proc/proc.h"
#include <errno.h>
#include <string.h>

static u32 rule_id(struct space *s, const struct xp_rule *r)
{
    u64 key;
    memcpy(&key, r, sizeof(key));
    u64 *id = map_put(&s->rule_ids, key);
    if (!*id) {
        *VEC_PUSH(&s->rules) = *r;
        *id = s->rules.n;
    }
    return (u32)*id - 1;
}

/* The same layout as agent/probe/shards.c: index words, then rows, both as word numbers. */
static struct xp_file load(struct space *s, const struct xp_table *t)
{
    const u32 *index = (const u32 *)(t + 1), *rows = index + t->nblocks + 1;
    struct xp_file f = {.state = t->nblocks ? XP_FILE_READY : XP_FILE_FP, .uid = ++s->next_uid, .flags = t->flags};
    f.nblocks = t->nblocks;
    f.lo = t->lo;
    f.index = (u32)s->words.n;
    u32 first = f.index + t->nblocks + 1;
    for (u32 i = 0; i <= t->nblocks; i++)
        *VEC_PUSH(&s->words) = first + index[i];
    for (u32 i = 0; i < t->nrows; i++) {
        struct xp_rule r;
        memcpy(&r, (const char *)(rows + t->nrows) + 8ull * (rows[i] >> 16), sizeof(r));
        *VEC_PUSH(&s->words) = (rows[i] & 0xffff) | rule_id(s, &r) << 16;
    }
    return f;
}

static struct xp_file table_of(struct space *s, int fd, const char *path)
{
    for (size_t i = 0; i < s->tables.n; i++)
        if (!strcmp(s->tables.v[i].path, path))
            return s->tables.v[i].value;
    struct table_limits limits = TABLE_LIMITS_DEFAULT;
    AUTO_FREE struct xp_table *image = NULL;
    size_t len;
    struct xp_file f = {.state = XP_FILE_FP};
    if (!table_build(fd, &limits, &image, &len))
        f = load(s, image);
    struct known_table *k = VEC_PUSH(&s->tables);
    k->path = strdup(path);
    k->value = f;
    return f;
}

static void add_mapping(struct space *s, const char *line, int vdso)
{
    unsigned long long start, end, pgoff;
    char prot[8], dev[16], name[4096] = "";
    unsigned long inode;
    if (sscanf(line, "%llx-%llx %7s %llx %15s %lu %4095[^\n]", &start, &end, prot, &pgoff, dev, &inode, name) < 6 ||
        prot[2] != 'x' || !strcmp(name, "[vsyscall]"))
        return;
    AUTO_FREE char *path = NULL;
    bool is_vdso = !strcmp(name, "[vdso]");
    AUTO_CLOSE int place = is_vdso ? -1 : proc_open_mapping((u32)s->pid, start, end, &path);
    AUTO_CLOSE int fd = is_vdso ? dup(vdso) : place < 0 ? -1 : fs_open_regular(place);
    struct xp_vma *m = VEC_PUSH(&s->vmas);
    *m = (struct xp_vma){.start = start, .end = end, .bias = start - pgoff, .file.state = XP_FILE_FP};
    if (fd >= 0) {
        m->file = table_of(s, fd, is_vdso ? name : path);
        m->file.id = XP_FILE_FIRST + (u32)s->vmas.n;
    }
    *VEC_PUSH(&s->names) = strdup(name[0] ? name : "[anonymous]");
}

static void forget_mappings(struct space *s)
{
    for (size_t i = 0; i < s->names.n; i++)
        free(s->names.v[i]);
    s->names.n = s->vmas.n = 0;
}

int space_refresh(struct space *s, int pid)
{
    char path[64];
    char *text = NULL;
    snprintf(path, sizeof(path), "/proc/%d/maps", pid);
    int rc = fs_read_file(path, 64 << 20, &text, NULL);
    if (rc)
        return rc;
    if (s->maps && !strcmp(s->maps, text)) {
        free(text);
        return 0;
    }
    free(s->maps);
    s->maps = text;
    s->pid = pid;
    forget_mappings(s);
    AUTO_CLOSE int vdso = proc_vdso();
    for (const char *line = text; line && *line; line = strchr(line, '\n'), line += line ? 1 : 0)
        add_mapping(s, line, vdso);
    return 1;
}

struct host_space space_host(const struct space *s, int (*read)(void *, void *, u32, u64), void *ctx)
{
    return (struct host_space){.words = s->words.v,
                               .nwords = (u32)s->words.n,
                               .rules = s->rules.v,
                               .vmas = s->vmas.v,
                               .nvmas = s->vmas.n,
                               .read = read,
                               .ctx = ctx};
}

u64 space_address(const struct space *s, u64 word, const char **name)
{
    *name = "[anonymous]";
    if (XP_WORD_KIND(word) == XP_WORD_ANON)
        return XP_WORD_ADDR(word);
    size_t i = XP_WORD_FILE(word) - XP_FILE_FIRST - 1;
    *name = s->names.v[i];
    return XP_WORD_OFFSET(word) + s->vmas.v[i].bias;
}

void space_free(struct space *s)
{
    forget_mappings(s);
    for (size_t i = 0; i < s->tables.n; i++)
        free(s->tables.v[i].path);
    vec_free(&s->tables);
    vec_free(&s->names);
    vec_free(&s->vmas);
    vec_free(&s->words);
    vec_free(&s->rules);
    map_free(&s->rule_ids);
    free(s->maps);
}
