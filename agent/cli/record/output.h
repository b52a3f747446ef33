/* Writes profiles to output files. Outputs are checked before recording and written after it, independently of each
 * other.
 */
#pragma once
#include "cli/options/options.h"
#include "profile/encode.h"
#include <stdio.h>

struct output {
    const char *path; /* "-": standard output */
    const struct encoder *encoder;
    bool written;
};
struct outputs {
    struct output *v;
    size_t n;
};

/* Chooses each one's encoder (its suffix, or `format`) and finds out whether it can be written. One line in why[]. */
int outputs_open(struct outputs *o, const struct option_list *paths, const char *format, char *why, size_t len);
/* Could a file be put there, as far as one can tell without doing it? 0 or -errno. */
int output_writable(const char *path);
/* Writes them all; one that fails leaves no partial file and does not stop the others. 0 or the first -errno. */
int outputs_write(struct outputs *o, const struct profile *p);
/* One line for each file that was written. */
void outputs_report(const struct outputs *o, FILE *f);
/* A file, all or nothing; "-", devices and pipes are written to directly. A symbolic link stays, and the file that it
 * points to is written. 0, -EACCES (also: a link that another user put into a shared directory) or -errno. */
int output_write_file(const char *path, const void *data, size_t len);
void outputs_free(struct outputs *o);
/* Where tables are kept when nobody says where; `path` is room for it. */
const char *output_cache_dir(char *path, size_t len);
#define AUTO_OUTPUTS __attribute__((cleanup(outputs_free)))
