#include "opener/hung.h"
#include "base/child.h"
#include "base/cleanup.h"
#include "base/fs.h"
#include "base/hash.h"
#include "base/vec.h"
#include "bpf/xprof.h"
#include <errno.h>
#include <linux/magic.h>
#include <pthread.h>
#include <sys/stat.h>

bool hung_may(u32 magic)
{
    static const u32 local[] = {
        EXT4_SUPER_MAGIC,  XFS_SUPER_MAGIC,        BTRFS_SUPER_MAGIC,      F2FS_SUPER_MAGIC,          TMPFS_MAGIC,
        RAMFS_MAGIC,       SQUASHFS_MAGIC,         0xe0f5e1e2 /* EROFS */, ISOFS_SUPER_MAGIC,         HUGETLBFS_MAGIC,
        MSDOS_SUPER_MAGIC, 0x2011bab0 /* exFAT */, 0x2fc12fc1 /* ZFS */,   0xca451a4e /* bcachefs */,
    };
    for (size_t i = 0; i < sizeof(local) / sizeof(*local); i++)
        if (magic == local[i])
            return false;
    return true;
}

struct hung_place hung_place_of(const struct xp_file_event *e)
{
    u64 device = hash_u64(e->key.dev + 1ull);
    return (struct hung_place){.id = hung_may(e->magic) ? device : hash_u64(device ^ e->key.ino), .owner = e->cgroup};
}

struct hung_place hung_place_of_process(u32 tgid, u64 start, u64 cgroup)
{
    return (struct hung_place){.id = hash_process(tgid, start), .owner = cgroup};
}

struct hung_place hung_place_of_root(int fd)
{
    struct stat st = {.st_dev = 0};
    if (fd >= 0)
        fs_stat(fd, &st); /* untouched on failure */
    return (struct hung_place){.id = hash_u64(hash_u64(st.st_dev ^ 1ull << 63) ^ st.st_ino)};
}

struct place {
    struct hung_place who;
    u64 until_ns; /* left alone until then */
    u64 wait_ns;  /* how long that was */
};

struct hung {
    pthread_mutex_t lock;
    VEC(struct place) places;
    VEC(int) children; /* pidfds */
};

int hung_new(struct hung **out)
{
    struct hung *h = calloc(1, sizeof(*h));
    if (!h)
        return -ENOMEM;
    pthread_mutex_init(&h->lock, NULL);
    *out = h;
    return 0;
}

void hung_free(struct hung **hh)
{
    struct hung *h = *hh;
    if (!h)
        return;
    for (size_t i = 0; i < h->children.n; i++)
        close(h->children.v[i]);
    vec_free(&h->children);
    vec_free(&h->places);
    pthread_mutex_destroy(&h->lock);
    free(h);
    *hh = NULL;
}

/* ---- Under the lock --------------------------------------------------------------------------------------------- */

static void reap(struct hung *h)
{
    size_t kept = 0;
    for (size_t i = 0; i < h->children.n; i++) {
        if (child_has_ended(h->children.v[i]))
            close(h->children.v[i]);
        else
            h->children.v[kept++] = h->children.v[i];
    }
    h->children.n = kept;
}

static struct place *find(struct hung *h, u64 id)
{
    for (size_t i = 0; i < h->places.n; i++)
        if (h->places.v[i].who.id == id)
            return &h->places.v[i];
    return NULL;
}

static bool is_owners(const struct place *place, const struct hung_place *p)
{
    return p->owner && place->who.owner == p->owner;
}

static struct place *add(struct hung *h, const struct hung_place *p)
{
    struct place *place = NULL;
    if (h->places.n < HUNG_PLACES)
        place = VEC_PUSH(&h->places);
    for (size_t i = 0; !place && i < h->places.n; i++)
        if (!i || h->places.v[i].until_ns < place->until_ns)
            place = &h->places.v[i];
    if (place)
        *place = (struct place){.who = *p};
    return place;
}

static bool is_left_alone(const struct hung *h, const struct hung_place *p, u64 now_ns)
{
    size_t of_owner = 0;
    bool known = false, waits = false;
    for (size_t i = 0; i < h->places.n; i++) {
        const struct place *place = &h->places.v[i];
        bool is_it = place->who.id == p->id, is_due = now_ns >= place->until_ns;
        known |= is_it || is_owners(place, p);
        of_owner += is_owners(place, p) && !is_due;
        waits |= is_it && !is_due;
    }
    return waits || of_owner >= HUNG_OF_OWNER || (known && h->children.n >= HUNG_LEFT);
}

/* Twice as long as before. What else its owner has that does not answer counts, too. */
static u64 next_wait(const struct hung *h, const struct hung_place *p)
{
    u64 longest = 0;
    for (size_t i = 0; i < h->places.n; i++) {
        const struct place *place = &h->places.v[i];
        if ((place->who.id == p->id || is_owners(place, p)) && place->wait_ns > longest)
            longest = place->wait_ns;
    }
    return !longest ? HUNG_FIRST_NS : 2 * longest < HUNG_LONGEST_NS ? 2 * longest : HUNG_LONGEST_NS;
}

/* ---- What is asked ---------------------------------------------------------------------------------------------- */

bool hung_is(struct hung *h, const struct hung_place *p, u64 now_ns)
{
    if (!h)
        return false;
    pthread_mutex_lock(&h->lock);
    reap(h);
    bool is = is_left_alone(h, p, now_ns);
    pthread_mutex_unlock(&h->lock);
    return is;
}

u64 hung_note(struct hung *h, const struct hung_place *p, u64 now_ns)
{
    if (!h)
        return HUNG_FIRST_NS;
    pthread_mutex_lock(&h->lock);
    u64 wait_ns = next_wait(h, p);
    struct place *place = find(h, p->id);
    if (!place)
        place = add(h, p);
    if (place) {
        place->wait_ns = wait_ns;
        place->until_ns = now_ns + wait_ns;
    }
    pthread_mutex_unlock(&h->lock);
    return wait_ns;
}

u64 hung_wait(struct hung *h, const struct hung_place *p, u64 now_ns)
{
    u64 wait_ns = HUNG_FIRST_NS;
    if (!h)
        return wait_ns;
    pthread_mutex_lock(&h->lock);
    const struct place *place = find(h, p->id);
    if (place && place->until_ns > now_ns)
        wait_ns = place->until_ns - now_ns;
    pthread_mutex_unlock(&h->lock);
    return wait_ns;
}

void hung_answered(struct hung *h, const struct hung_place *p)
{
    if (!h)
        return;
    pthread_mutex_lock(&h->lock);
    struct place *place = find(h, p->id);
    if (place)
        *place = h->places.v[--h->places.n];
    pthread_mutex_unlock(&h->lock);
}

u64 hung_end_child(struct hung *h, struct child_process *c)
{
    int left = -1;
    u64 used = child_kill(c, &left);
    if (left >= 0 && h)
        hung_keep_child(h, left);
    else
        xp_cleanup_close(&left);
    return used;
}

void hung_keep_child(struct hung *h, int pidfd)
{
    pthread_mutex_lock(&h->lock);
    int *slot = VEC_PUSH(&h->children);
    if (slot)
        *slot = pidfd;
    else
        close(pidfd);
    pthread_mutex_unlock(&h->lock);
}

size_t hung_children(struct hung *h)
{
    pthread_mutex_lock(&h->lock);
    reap(h);
    size_t n = h->children.n;
    pthread_mutex_unlock(&h->lock);
    return n;
}

size_t hung_places(struct hung *h, u64 now_ns)
{
    size_t n = 0;
    pthread_mutex_lock(&h->lock);
    for (size_t i = 0; i < h->places.n; i++)
        n += now_ns < h->places.v[i].until_ns;
    pthread_mutex_unlock(&h->lock);
    return n;
}
