/* Reads the configuration file: YAML, flattened to paths ("rate", "pod-labels.0", "exporters.1.url"), each with its
 * value and line. Values are taken by path; values that nobody took are reported as errors, with their line. Anchors
 * are not supported, so that values cannot become larger than their text. max_rate is accepted for max-rate. The only
 * user of libyaml.
 */
#pragma once
#include "base/buf.h"
#include <stdbool.h>
#include <stddef.h>

struct config_file;

/* Returns 0, or -errno and one line in why[] ("xprof.yaml:3: ..."). -EINVAL: not valid YAML, or not supported;
 * -EFBIG. */
int config_file_new(struct config_file **out, const char *path, char *why, size_t why_len);
void config_file_free(struct config_file **f);

/* Takes the scalar at a path (borrowed); NULL: there is none. `line` may be NULL. */
const char *config_file_take(struct config_file *f, const char *path, unsigned *line);
/* Returns the number of items of the list at a path (paths "PATH.0" ...); 0: there is no list. */
size_t config_file_items(const struct config_file *f, const char *path);
/* Returns the i-th key of the map at a path (borrowed) and its line; NULL past the last one. */
const char *config_file_key(const struct config_file *f, const char *path, size_t i, unsigned *line);
/* Returns the first key that was not taken; NULL: all were taken. To be called last. */
const char *config_file_left(const struct config_file *f, unsigned *line);
const char *config_file_name(const struct config_file *f);
/* Appends the value at a path as one line of YAML. Returns false if there is none. */
bool config_file_print(const struct config_file *f, const char *path, struct buf *out);
