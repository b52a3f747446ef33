/* Evaluates DWARF expressions for the CFA (DWARF 5, 2.5) as far as a rule can represent the result. */
#pragma once
#include "bpf/types.h"
#include "bpf/xprof.h"
#include <stdbool.h>

/* Stores the kind of CFA (enum xp_cfa) and its cfa_off. Returns false, and stores nothing, if the expression is
 * malformed or no rule can represent it. */
bool expression_cfa(const u8 *p, const u8 *end, unsigned *kind, s32 *cfa_off);
