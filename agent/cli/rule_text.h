/* Says how a rule leads from a frame to its caller, as `inspect` does. */
#pragma once
#include "base/buf.h"
#include "cfi/table.h"

void rule_text(const struct xp_rule *r, struct buf *out);
