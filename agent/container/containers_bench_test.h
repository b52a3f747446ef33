/* A test bench for the registry of containers: an empty directory replaces the cgroup tree and the host's root, and a
 * fake runtime lists what the test specifies.
 */
#pragma once
#include "base/cleanup.h"
#include "base/test.h"
#include "container/containers.h"

#define MS    1000000ull
#define SEC   (1000 * MS)
#define UID   "11111111-2222-3333-4444-555555555555"
#define POD   "/kubepods/burstable/pod" UID
#define HEX   "0123456789abcdef0123456789abcdef0123456789abcdef0123456789ab"
#define C1    HEX "0001"
#define C2    HEX "0002"
#define OTHER "99999999-2222-3333-4444-555555555555"
#define KEY   "xprof.io/profile"

/* The fake runtime: the sandbox C2 of pod UID, and the container C1 in it. */
enum { MANY = 9000 }; /* pods of 4 KiB each: more than fit */
typedef char uid_text[POD_UID_MAX + 1];

struct fake_runtime {
    const uid_text *many; /* of that many pods */
    int rc, fetches, image_rc, images;
    bool lists_sandbox, lists_container, labels_of_kubelet; /* labels on the container, which then needs no sandbox */
    const char *image, *annotation;
    size_t annotations; /* number of annotations "more-N" of the sandbox, besides KEY */
    const char *about;  /* NULL: "containerd 9.9" */
};

struct bench_seen { /* by the handlers */
    int changed, gone;
    enum container_state state;
    char path[256];
};

struct bench {
    struct containers *c;
    struct fake_runtime fake;
    struct bench_seen seen;
    char dir[32];
};

/* Creates the bench, with or without a runtime. `out_of_sight`: the tree is not visible; cgroups are found by the
 * processes in this directory. */
int bench_new(struct bench *b, bool runtime, const char *out_of_sight);
void bench_free(struct bench *b);

#define BENCH(runtime)                                  \
    CLEANUP(bench_free) struct bench b = {0};           \
    __attribute__((unused)) struct containers_stats st; \
    CHECK_EQ(bench_new(&b, runtime, NULL), 0)
