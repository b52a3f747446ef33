/* Finds the files of a recording by path and build ID. If the program itself is not available, its debug file is used:
 * a stand-in provides the layout of the code.
 */
#pragma once
#include "inspect/binaries.h"
#include "profile/recorded.h"

struct recorded_files; /* the ids in `binaries` of a recording's files */

/* Both are borrowed; files are added to `binaries`. 0 or -ENOMEM. */
int recorded_files_new(struct recorded_files **out, struct binaries *binaries, const struct recorded *recorded);
void recorded_files_free(struct recorded_files **f);
/* Names for recorded_name. */
struct name_source recorded_files_source(struct recorded_files *f);
