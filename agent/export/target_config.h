/* A target's configuration, copied: it outlives the file it was read from. */
#pragma once
#include "export/export.h"

/* 0, -ENOMEM, or -EINVAL with a line in why[] (a name that is no file name, too many headers or labels). The copy is
 * freed whatever was copied before an error. */
int target_config_copy(struct export_target *out, const struct export_target *t, char *why, size_t size);
void target_config_free(struct export_target *t);
