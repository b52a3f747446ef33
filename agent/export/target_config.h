/* Copies the configuration of a target, so that it outlives the file it was read from. */
#pragma once
#include "export/export.h"

/* Returns 0, -ENOMEM, or -EINVAL with a line in why[] (the name is not a valid file name; too many headers or labels).
 * After an error the copy must be freed as well. */
int target_config_copy(struct export_target *out, const struct export_target *t, char *why, size_t size);
void target_config_free(struct export_target *t);
