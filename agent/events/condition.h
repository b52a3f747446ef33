/* Compiles a condition on the fields of a tracepoint, such as
 *
 *     ret < 0 && (comm == "postgres" || filename == "/etc/pass*")
 *
 * to ways (bpf/tracepoint.h). Numbers: == != < <= > >= and & (any of these bits); decimal, 0x.., 0.. Texts: == and !=
 * with a quoted text, of which a * at the end stands for anything. !, &&, || and () as in C. Beside the fields there
 * are comm, pid and tid. (int), (unsigned), (short), (char) and (bool) before a field take that much of it.
 */
#pragma once
#include "probe/tracefs.h"
#include <stdbool.h>

/* Fills in the terms and ways of *out. Returns 0, or -EINVAL and a line in why[] that quotes what is wrong. */
int condition_compile(const char *text, const struct tracepoint *fields, struct xp_tp *out, char *why, size_t len);
/* Finds a field, with a cast or without, or what a condition may ask for beside them. Returns whether there is one. */
bool condition_field(const char *name, const struct tracepoint *fields, struct xp_tp_field *out);
/* The name behind the cast. */
const char *condition_without_cast(const char *name);
