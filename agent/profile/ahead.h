/* Says which call paths had pages read ahead in vain (kind `readahead`), and what would end that: a line for each,
 * those that waste most first. A path is the innermost functions of the program, because what follows below them
 * differs with what is in the page cache.
 */
#pragma once
#include "profile/profile.h"

void ahead_advice(const struct profile *p, struct buf *out);
