/* Writes profiles to output files. Outputs are checked before recording and written after it, independently of each
 * other.
 */
#pragma once
#include "cli/options/options.h"
#include "profile/encode.h"
#include "timeline/timeline.h"
#include <limits.h>
#include <stdio.h>

struct output {
    const char *path;              /* "-": standard output */
    const struct encoder *encoder; /* NULL: it is for the timeline */
    enum timeline_format timeline;
    bool gz; /* it is gzipped in addition */
    bool written;
};
struct outputs {
    struct output *v;
    size_t n;
};

/* Selects the encoder of each output (by suffix, or `format`) and checks that it can be written. `timeline`: there is
 * one, and some formats are for it. Errors: one line in why[]. */
int outputs_open(struct outputs *o, const struct option_list *paths, const char *format, bool timeline, char *why,
                 size_t len);
/* Whether a path ends in .json, or .json.gz. */
bool output_is_json(const char *path);
/* Checks whether a file can be written there, as far as possible without writing it. Returns 0 or -errno. */
int output_writable(const char *path);
/* Writes all outputs that are for profiles. If one fails, it leaves no partial file and the others are still written.
 * Returns 0 or the first -errno. */
int outputs_write(struct outputs *o, const struct profile *p);
/* Prints one line per written file. */
void outputs_report(const struct outputs *o, FILE *f);
/* Writes a file atomically; "-", devices and pipes are written directly. Symbolic links are followed. Returns 0;
 * -EACCES (also for a link that another user put into a shared directory); or another -errno. */
int output_write_file(const char *path, const void *data, size_t len);
/* A file that is written bit by bit, as output_write_file does at once. */
struct output_file {
    char path[PATH_MAX], temporary[PATH_MAX + 8]; /* temporary: "": it is written in place */
    int fd;
    u64 bytes;            /* that were added */
    struct gz_stream *gz; /* what is written is gzipped; NULL: it is not */
};
/* Return 0 or -errno. output_end makes it the file, or, if `rc` is an error, removes what there is of it. */
int output_begin(const char *path, bool gz, struct output_file *f);
int output_add(void *f, const void *data, size_t len);
int output_end(struct output_file *f, int rc);
void outputs_free(struct outputs *o);
/* Returns the default cache directory, stored in `path`. */
const char *output_cache_dir(char *path, size_t len);
#define AUTO_OUTPUTS __attribute__((cleanup(outputs_free)))
