/* Names of functions as users of probes give them. */
#pragma once
#include "bpf/types.h"
#include <stdbool.h>
#include <stddef.h>

/* Whether a name fits a pattern, in which * and ? stand for anything, and nothing else does: names have brackets. Go's
 * own way of writing is understood: [...] for the types that a generic function is made for, and (*T). for a receiver
 * that is a pointer, whose * stands for itself. */
bool function_name_fits(const char *pattern, const char *name);
/* Whether a function of this name uses its return address for more than to return, so that a return probe, which puts
 * another one in its place, would end the program: it keeps it to return once more, takes it off the stack, looks for
 * its callers, or finds something else where others have it. */
bool function_keeps_return(const char *name);
