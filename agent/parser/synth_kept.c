#include "parser/synth_kept.h"
#include "base/cleanup.h"
#include "synth/stretch_image.h"
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define MAX_IMAGE (256 << 20)

struct synth_kept {
    struct stat st;  /* which file, as it was */
    VEC(u32) wanted; /* ascending: these were read */
    struct synth found;
};

void synth_kept_free(struct synth_kept **kept)
{
    struct synth_kept *k = TAKE_PTR(*kept);
    if (!k)
        return;
    vec_free(&k->wanted);
    synth_free(&k->found);
    free(k);
}

static bool is_same(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
           !memcmp(&a->st_mtim, &b->st_mtim, sizeof(a->st_mtim)) &&
           !memcmp(&a->st_ctim, &b->st_ctim, sizeof(a->st_ctim));
}

static int take_image(struct synth_kept *k, const void *image)
{
    size_t n;
    const u32 *wanted = stretch_image_wanted(image, &n);
    if (VEC_RESERVE(&k->wanted, n + 1))
        return -ENOMEM;
    memcpy(k->wanted.v, wanted, n * sizeof(*wanted));
    k->wanted.n = n;
    return stretch_image_read(image, &k->found);
}

/* One that cannot be used costs time only. */
static int load(struct synth_kept *k, int fd)
{
    struct stat st;
    if (fd < 0 || fstat(fd, &st) || st.st_size <= 0 || st.st_size > MAX_IMAGE)
        return 0;
    void *image = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (image == MAP_FAILED)
        return 0;
    int err = stretch_image_check(image, (size_t)st.st_size) ? 0 : take_image(k, image);
    munmap(image, (size_t)st.st_size);
    return err;
}

int synth_kept_find(struct synth_kept **kept, int fd, int image)
{
    struct stat st;
    if (fstat(fd, &st))
        return -errno;
    if (*kept && is_same(&(*kept)->st, &st))
        return 0;
    synth_kept_free(kept);
    CLEANUP(synth_kept_free) struct synth_kept *k = calloc(1, sizeof(*k));
    int err = k ? load(k, image) : -ENOMEM;
    if (err)
        return err;
    k->st = st;
    *kept = TAKE_PTR(k);
    return 0;
}

/* Those of `wanted` that are not among the known ones; *all: both, ascending. */
static size_t select_new(const struct synth_kept *k, const u32 *wanted, size_t n, u32 *new, u32 *all, size_t *nall)
{
    size_t known = 0, nnew = 0;
    *nall = 0;
    for (size_t i = 0; i < n; i++) {
        while (known < k->wanted.n && k->wanted.v[known] < wanted[i])
            all[(*nall)++] = k->wanted.v[known++];
        if (known < k->wanted.n && k->wanted.v[known] == wanted[i])
            known++;
        else
            new[nnew++] = wanted[i];
        all[(*nall)++] = wanted[i];
    }
    while (known < k->wanted.n)
        all[(*nall)++] = k->wanted.v[known++];
    return nnew;
}

int synth_kept_read(struct synth_kept *k, const struct elf_file *elf, const struct synth_span *covered, size_t ncovered,
                    const u32 *wanted, size_t n)
{
    struct synth_limits limits = SYNTH_LIMITS_DEFAULT;
    AUTO_FREE u32 *new = calloc(n + 1, sizeof(*new)), *all = calloc(n + k->wanted.n + 1, sizeof(*all));
    size_t nall = 0;
    if (!new || !all || VEC_RESERVE(&k->wanted, n + k->wanted.n + 1))
        return -ENOMEM;
    size_t nnew = select_new(k, wanted, n, new, all, &nall);
    int err = synth_read_stretches(elf, covered, ncovered, new, nnew, &limits, &k->found);
    if (err)
        return err == -EINVAL ? -EBADMSG : err;
    size_t unread = nnew - k->found.unread;
    k->wanted.n = 0;
    for (size_t i = 0; i < nall; i++) /* those that were not read are asked for again */
        if (unread < nnew && all[i] == new[unread])
            unread++;
        else
            k->wanted.v[k->wanted.n++] = all[i];
    return 0;
}

const struct synth *synth_kept_found(const struct synth_kept *k)
{
    return &k->found;
}

int synth_kept_write(const struct synth_kept *k, struct buf *out)
{
    if (k->found.dropped || !k->found.ranges.n)
        return 0;
    return stretch_image_write(&k->found, k->wanted.v, k->wanted.n, out);
}
