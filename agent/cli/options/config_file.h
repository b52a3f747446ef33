/* Reads the configuration file: YAML, flattened to paths ("rate", "pod-labels.0", "exporters.1.url"), each with its
 * value and line. Code that knows a path takes its value; values that remain are reported as mistakes, with their line.
 * Anchors are not supported, so that no value is larger than its text. max_rate is accepted for max-rate. The only user
 * of libyaml.
 */
#pragma once
#include "base/buf.h"
#include <stdbool.h>
#include <stddef.h>

struct config_file;

/* 0, or -errno with one line in why[] ("xprof.yaml:3: ..."): -EINVAL when it is no YAML of this kind, -EFBIG. */
int config_file_new(struct config_file **out, const char *path, char *why, size_t why_len);
void config_file_free(struct config_file **f);

/* The scalar at a path, NULL when there is none; it counts as taken. `line` may be NULL. Borrowed. */
const char *config_file_take(struct config_file *f, const char *path, unsigned *line);
/* Items of the list at a path (paths "PATH.0" ... ). 0 when there is none. */
size_t config_file_items(const struct config_file *f, const char *path);
/* A map's i-th key below a path, NULL behind the last; *line is where it stands. Borrowed. */
const char *config_file_key(const struct config_file *f, const char *path, size_t i, unsigned *line);
/* The first key that nobody took, the last thing to be asked for; NULL when all were. */
const char *config_file_left(const struct config_file *f, unsigned *line);
const char *config_file_name(const struct config_file *f);
/* What stands at a path, on one line as it could stand in a file again. False: nothing. */
bool config_file_print(const struct config_file *f, const char *path, struct buf *out);
