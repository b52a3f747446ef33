/* Finds out which containers need names of which files, so that the time for names can be divided among them. A file of
 * a lower layer is needed by many: the time that it takes counts against the one of them that used least lately. So a
 * container whose time is used up does not keep its neighbours from the names of a library that it shares with them.
 */
#pragma once
#include "base/map.h"
#include "base/turns.h"
#include "base/vec.h"
#include "profile/aggregate.h"

struct asker {
    u32 file, process; /* ID; row in aggregate_processes, of some process of the container */
    u64 spent_ns;      /* by the container, lately */
};
struct askers { /* release with askers_free */
    VEC(struct asker) all;
    struct map payer; /* file -> index in `all` */
    const struct agg_process *processes;
};

/* Lists the pairs of files and containers in these stacks: first those whose containers used least time. Returns 0 or
 * -ENOMEM; it is then empty. `stacks` must stay as they are until askers_free. */
int askers_find(struct askers *a, const struct aggregate *stacks, const struct turns *turns);
/* Returns the cgroup that the time for a file counts against; 0: no stack has the file. */
u64 askers_payer(const struct askers *a, u32 file);
void askers_free(struct askers *a);
