/* xprof list: the table of events. */
#pragma once
#include "cli/list_options.h"
#include "cli/options/options.h"

extern const struct command list_command;

/* Appends one line per event, below a line of headings. */
void list_text(struct buf *out);
/* Appends the same as a JSON array, with everything that is known about the events. */
void list_json(struct buf *out);
