#include "files/shelf_test.h"
#include "base/test.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

void shelf_free(struct shelf *s)
{
    char command[128];
    files_free(&s->files);
    cache_free(&s->cache);
    parser_free(&s->parser);
    probe_free(&s->probe);
    snprintf(command, sizeof(command), "rm -rf %s", s->dir);
    if (*s->dir && system(command))
        printf("  %s stays\n", s->dir);
}

int shelf_new(struct shelf *s, bool cached)
{
    char why[256];
    struct probe_config c = {.table_bytes = 16 << 20};
    strcpy(s->dir, "/tmp/xprof-test-XXXXXX");
    if (!mkdtemp(s->dir))
        return -errno;
    int rc = probe_new(&s->probe, &c, why, sizeof(why));
    rc = rc ? rc : parser_new(&s->parser, &(struct parser_limits)PARSER_LIMITS_DEFAULT);
    rc = rc || !cached ? rc : cache_open(&s->cache, s->dir, 1 << 30);
    return rc ? rc : files_new(&s->files, s->probe, s->parser, s->cache, true);
}

struct xp_file_key shelf_key(u32 id, u64 size)
{
    return (struct xp_file_key){.ino = 1000 + id, .dev = 1, .size = size};
}

struct xp_file_key shelf_key_of(u32 id, const char *path)
{
    struct stat st = {0};
    stat(path, &st);
    struct xp_file_key k = shelf_key(id, (u64)st.st_size);
    k.ctime_sec = (u64)st.st_ctim.tv_sec;
    k.ctime_nsec = (u32)st.st_ctim.tv_nsec;
    return k;
}

const struct file *shelf_build_for(struct shelf *s, u64 cgroup, u32 id, const char *fixture)
{
    char path[4096];
    snprintf(path, sizeof(path), "%s/%s", test_data(), fixture);
    struct file_job job = {.event.id = id, .fd = open(path, O_RDONLY | O_CLOEXEC), .path = strdup(path)};
    if (job.fd < 0)
        job.error = -errno;
    job.event.key = shelf_key_of(id, path);
    job.event.cgroup = cgroup;
    job.event.magic = EXT4_SUPER_MAGIC;
    files_build(s->files, &job);
    return files_get(s->files, id);
}

const struct file *shelf_build(struct shelf *s, u32 id, const char *fixture)
{
    return shelf_build_for(s, 1, id, fixture);
}

void shelf_age(struct shelf *s, unsigned rounds, u32 used)
{
    for (unsigned i = 0; i < rounds; i++)
        files_age(s->files, &used, 1);
}
