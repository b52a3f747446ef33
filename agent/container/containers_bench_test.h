/* A registry of containers over an empty folder in the place of the cgroup tree and of the host's root, with a runtime
 * that lists what the test says.
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

/* The runtime: the sandbox C2 of pod UID, and the container C1 in it. */
enum { MANY = 9000 }; /* pods of 4 KiB each: more than fit */
typedef char uid_text[POD_UID_MAX + 1];

struct fake_runtime {
    const uid_text *many; /* of that many pods */
    int rc, fetches, image_rc, images;
    bool lists_sandbox, lists_container, labels_of_kubelet; /* on the container: it needs no sandbox */
    const char *image, *annotation;
    size_t annotations; /* of the sandbox, more than the one of KEY: "more-N" */
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

/* With a runtime or without. `out_of_sight`: the tree cannot be seen, processes in this folder stand for it. */
int bench_new(struct bench *b, bool runtime, const char *out_of_sight);
void bench_free(struct bench *b);

#define BENCH(runtime)                                  \
    CLEANUP(bench_free) struct bench b = {0};           \
    __attribute__((unused)) struct containers_stats st; \
    CHECK_EQ(bench_new(&b, runtime, NULL), 0)
