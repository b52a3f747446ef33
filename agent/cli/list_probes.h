/* xprof list uprobe:FILE[:PATTERN], uretprobe:FILE[:PATTERN] and usdt:FILE[:PROVIDER[:NAME]]: what can be probed in a
 * program or library.
 */
#pragma once
#include "base/buf.h"
#include "cli/list_options.h"
#include <stdbool.h>

struct list_probed {  /* what a text asks for */
    const char *form; /* "uprobe:" etc. */
    char file[512], pattern[256];
};
/* Takes a text apart; false: it is too long. A PATTERN without * and ? stands for any name that has it in it. */
bool list_probes_split(const char *text, struct list_probed *out);

bool list_is_of_probes(const char *text);
/* Appends a line for each probe, with the name that -e takes; or a JSON array. Returns 0; or -errno and a line.
 * *left_out is how many there are beyond a limit. */
int list_probes(const char *text, const struct list_options *o, struct buf *out, unsigned *left_out, char *why,
                size_t len);

struct functions;
struct usdt;
/* Append those of a reply of the parser process. */
void list_functions(const struct list_probed *l, const struct functions *f, bool json, struct buf *out);
void list_usdt(const struct list_probed *l, const struct usdt *u, bool json, struct buf *out);
