/* Finds what probes are attached to: functions, which -e uprobe:FILE:FUNCTION names, and USDT probes. FUNCTION is a
 * name as in the file, with * and ? for anything, and +OFFSET behind it; or 0x and an offset in the file. What FILE is,
 * is in probed_file.h.
 */
#pragma once
#include "cli/record/record_options.h"
#include "probe/probe.h"

/* Places of one event. Each takes some 10 us to attach, in each process that has the file mapped, and a copy of its
 * page there. */
#define RECORD_MAX_PLACES 10000

/* As event_choice.find (events/made.h); `options` is a struct record_options. */
int record_find_function(void *options, const char *file, const char *function, struct probe_places *out, char *why,
                         size_t len);
/* As event_choice.find_usdt. */
int record_find_usdt(void *options, const char *file, const char *probe, struct probe_places *out, char *why,
                     size_t len);
