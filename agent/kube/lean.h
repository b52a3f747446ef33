/* Copies the JSON of an object without its managedFields, the API server's own notes on who wrote which field: they are
 * as long as everything else together, and as a parsed tree ten times as long again.
 */
#pragma once
#include "base/buf.h"

/* Replaces the content of `out` by that of `text`, of which the values of members "managedFields" are 0. What is not
 * JSON is copied as it is. */
void lean_copy(struct buf *out, const char *text, size_t n);
