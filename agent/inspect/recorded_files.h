/* Finds the files of a recording by path and build ID. If the program itself is not available, its debug file is used;
 * a stand-in file provides the layout of the code.
 */
#pragma once
#include "inspect/binaries.h"
#include "profile/recorded.h"

struct recorded_files; /* the IDs in `binaries` of the files of a recording */

/* Both arguments are borrowed; files are added to `binaries`. Returns 0 or -ENOMEM. */
int recorded_files_new(struct recorded_files **out, struct binaries *binaries, const struct recorded *recorded);
void recorded_files_free(struct recorded_files **f);
/* Returns the source of names for recorded_name. */
struct name_source recorded_files_source(struct recorded_files *f);
