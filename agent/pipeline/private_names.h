/* Tells frames apart that are named by debug files of their own container. Containers that share a file of a lower
 * layer share its names, except for those that bring a debug file for it: what a container supplies names its own
 * frames only, and only where the file, the node, the user's directories and servers have nothing. Names of such a file
 * are requested under an ID of (file, container) instead of the file's ID. The worker owns it.
 */
#pragma once
#include "debug/line_indexes.h"
#include "profile/aggregate.h"

struct files;
struct file;
struct turns;
struct private_names;

/* All are borrowed. `turns`: the time for indexes of lines; what cannot be looked for in it is looked for in the next
 * interval. `again`: there is one interval after another, and what a node with many containers has to be searched for
 * may take some of them. Returns 0 or -ENOMEM. */
int private_names_new(struct private_names **out, const struct files *files, struct line_indexes *lines,
                      struct turns *turns, bool again);
void private_names_free(struct private_names **p);

/* Begins an interval. */
void private_names_begin(struct private_names *p);
/* Returns the ID for names of a file in the frames of a process: the file's own, or another one. */
u32 private_names_id(struct private_names *p, u32 file, const struct agg_process *who);
/* Returns the number of look-ups that were put off because the container's time was used up. */
u64 private_names_late(const struct private_names *p);
/* Returns the file of an ID; NULL: it is not known. */
const struct file *private_names_file(const struct private_names *p, u32 id);
/* Finds the line index of an ID whose file is known. Returns 0, or the error of line_indexes_get. */
int private_names_index(struct private_names *p, u32 id, struct line_index *out);
