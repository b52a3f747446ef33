/* A process as the host build of the unwinder sees it: its executable mappings, and the tables of their files, built
 * in this process. For the oracle only: nothing here is bounded against hostile files.
 */
#pragma once
#include "bpf/host/unwind_host.h"
#include "base/map.h"
#include "base/vec.h"

struct space {
    int pid;
    char *maps;              /* text of /proc/PID/maps when the space was read */
    VEC(struct xp_vma) vmas; /* file.id is the mapping's number + XP_FILE_FIRST, so that words can be turned back */
    VEC(char *) names;
    VEC(u32) words;
    VEC(struct xp_rule) rules;
    struct map rule_ids;
    VEC(struct known_table {
        char *path;
        struct xp_file value;
    })
    tables;
    u32 next_uid;
};

/* Reads the mappings again if they changed. 1 when they did, 0, or -errno. */
int space_refresh(struct space *s, int pid);
struct host_space space_host(const struct space *s, int (*read)(void *, void *, u32, u64), void *ctx);
/* The address that a stack word stands for, and the name of its file. */
u64 space_address(const struct space *s, u64 word, const char **name);
void space_free(struct space *s);
