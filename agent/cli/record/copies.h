/* Looks for places in all files of a bare name that processes have mapped: those in containers are files of their own.
 */
#pragma once
#include "cli/record/probed_file.h"
#include "cli/record/record_options.h"
#include "probe/probe.h"

#define PROBED_COPIES 64

struct probed_where record_probed_where(const struct record_options *o); /* borrows from it */

/* Finds places in one file: their offsets, counters and sites, owned by the caller. Returns 0, or -errno and a line. */
typedef int record_find_in(void *ctx, const struct probed_file *f, const char *file, struct probe_places *out,
                           char *why, size_t len);
/* Adds those of all copies, or of the one file that `file` names otherwise (record_open_probed). Returns 0 if there are
 * any; else -errno and a line. */
int record_find_in_copies(const struct probed_where *where, const char *file, record_find_in *find, void *ctx,
                          struct probe_places *out, char *why, size_t len);
