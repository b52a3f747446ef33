/* Finds the functions that -e uprobe:FILE:FUNCTION names. FILE is a path, `pid:N:PATH` in the root directory of a
 * process, or the bare name of a library or program: of one that a process of -p has mapped, or that is found where
 * those are looked for. FUNCTION is a name as in the file, with * and ? for anything, and +OFFSET behind it; or 0x and
 * an offset in the file.
 */
#pragma once
#include "cli/record/record_options.h"
#include "probe/probe.h"

/* As event_choice.find (events/made.h); `options` is a struct record_options. */
int record_find_function(void *options, const char *file, const char *function, struct probe_places *out, char *why,
                         size_t len);
