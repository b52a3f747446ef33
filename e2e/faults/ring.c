/* Reads along in the ring of a running agent, whose every record the kernel has written for user space: nothing that
 * leaves the kernel passes by unseen.   ring PID
 * Says "watching", and when it is ended by SIGTERM, how many records there were of each kind and owner, and when the
 * first was seen in the ring, ns by the monotonic clock: sample CGROUP COUNT FIRST     and so on: file TGID, dump TGID,
 * cgroup MADE, discarded 0 For samples that is when they were taken. Fails when it was too slow and something may have
 * passed by. The ring's layout: kernel/bpf/ringbuf.c.
 */
#include "bpf/types.h"
#include "bpf/xprof.h"
#include <fcntl.h>
#include <linux/bpf.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define OWNERS    4096
#define DISCARDED 0 /* no xp_record has this number */

struct ring {
    const volatile u64 *producer; /* behind the last byte that is reserved */
    const u8 *data;               /* twice in a row */
    u64 size, at;
};

static struct tally {
    u32 type;
    u64 owner, n, first_ns;
} tallies[OWNERS];
static volatile sig_atomic_t ended;

static void end(int signal)
{
    ended = 1;
}

static void count(u32 type, u64 owner, u64 time_ns)
{
    struct tally *t = tallies;
    while (t->n && (t->type != type || t->owner != owner))
        if (++t == tallies + OWNERS)
            exit(3);
    if (!t->n)
        *t = (struct tally){.type = type, .owner = owner, .first_ns = time_ns};
    t->n++;
}

static u64 time_of(u32 type, const void *record)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return type == XP_RECORD_SAMPLE ? ((const struct xp_sample *)record)->time
                                    : (u64)now.tv_sec * 1000000000 + (u64)now.tv_nsec;
}

static u64 owner_of(u32 type, const void *record)
{
    switch (type) {
    case XP_RECORD_SAMPLE:
        return ((const struct xp_sample *)record)->cgroup;
    case XP_RECORD_FILE:
        return ((const struct xp_file_event *)record)->tgid;
    case XP_RECORD_DUMP:
        return ((const struct xp_dump *)record)->tgid;
    case XP_RECORD_CGROUP:
        return ((const struct xp_cgroup_event *)record)->made;
    default:
        return 0;
    }
}

/* All records that are complete. Until the agent has consumed them nobody writes over them. */
static void follow(struct ring *r)
{
    while (r->at < __atomic_load_n(r->producer, __ATOMIC_ACQUIRE)) {
        const u32 *head = (const u32 *)(r->data + (r->at & (r->size - 1)));
        u32 len = __atomic_load_n(head, __ATOMIC_ACQUIRE);
        if (len & BPF_RINGBUF_BUSY_BIT)
            return;
        const u32 *record = head + BPF_RINGBUF_HDR_SZ / sizeof(*head); /* it begins with its type */
        u32 type = len & BPF_RINGBUF_DISCARD_BIT ? DISCARDED : *record;
        count(type, owner_of(type, record), time_of(type, record));
        if (__atomic_load_n(r->producer, __ATOMIC_ACQUIRE) - r->at > r->size) {
            fprintf(stderr, "ring: too slow\n");
            exit(2);
        }
        len &= ~(BPF_RINGBUF_BUSY_BIT | BPF_RINGBUF_DISCARD_BIT);
        r->at += (len + BPF_RINGBUF_HDR_SZ + 7) & ~7u;
    }
}

/* The number behind `key` in one of the process's fdinfo files that says it is a ring buffer. */
static u32 ring_id(const char *pid)
{
    char path[64], line[128];
    for (int fd = 0; fd < 4096; fd++) {
        unsigned type = 0, id = 0;
        snprintf(path, sizeof(path), "/proc/%.20s/fdinfo/%d", pid, fd);
        FILE *f = fopen(path, "re");
        while (f && fgets(line, sizeof(line), f)) {
            sscanf(line, "map_type: %u", &type);
            sscanf(line, "map_id: %u", &id);
        }
        if (f)
            fclose(f);
        if (type == BPF_MAP_TYPE_RINGBUF && id)
            return id;
    }
    return 0;
}

static int open_ring(struct ring *r, u32 id)
{
    union bpf_attr by_id = {.map_id = id};
    struct bpf_map_info info = {0};
    int fd = (int)syscall(SYS_bpf, BPF_MAP_GET_FD_BY_ID, &by_id, sizeof(by_id));
    union bpf_attr about = {.info = {.bpf_fd = (u32)fd, .info_len = sizeof(info), .info = (u64)(uintptr_t)&info}};
    if (fd < 0 || syscall(SYS_bpf, BPF_OBJ_GET_INFO_BY_FD, &about, sizeof(about)))
        return -1;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const u8 *m = mmap(NULL, 2 * page + 2 * (size_t)info.max_entries, PROT_READ, MAP_SHARED, fd, 0);
    if (m == MAP_FAILED)
        return -1;
    *r = (struct ring){(const volatile u64 *)(m + page), m + 2 * page, info.max_entries, 0};
    r->at = __atomic_load_n(r->producer, __ATOMIC_ACQUIRE); /* what comes from now on */
    return 0;
}

int main(int argc, char **argv)
{
    static const char *const names[] = {[DISCARDED] = "discarded",
                                        [XP_RECORD_SAMPLE] = "sample",
                                        [XP_RECORD_FILE] = "file",
                                        [XP_RECORD_DUMP] = "dump",
                                        [XP_RECORD_CGROUP] = "cgroup"};
    struct ring r;
    signal(SIGTERM, end);
    if (argc != 2 || open_ring(&r, ring_id(argv[1]))) {
        fprintf(stderr, "ring: no ring of process %s\n", argc == 2 ? argv[1] : "");
        return 1;
    }
    printf("watching\n");
    fflush(stdout);
    while (!ended) {
        nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
        follow(&r);
    }
    for (const struct tally *t = tallies; t < tallies + OWNERS && t->n; t++)
        if (t->type < sizeof(names) / sizeof(names[0]))
            printf("%s %llu %llu %llu\n", names[t->type], (unsigned long long)t->owner, (unsigned long long)t->n,
                   (unsigned long long)t->first_ns);
        else
            return 4;
    return 0;
}
