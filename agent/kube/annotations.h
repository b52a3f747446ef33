/* Parses the values of single annotations, strictly. Each function takes the text of an annotation, fills its part of
 * `struct wants`, and adds a warning for every invalid part. `key` is used in the warnings.
 */
#pragma once
#include "kube/policy.h"

#define ANNOTATION_MAX 1024 /* bytes; a longer value is a warning */

/* What a value of xprof.io/profile asks for. */
enum annotation_answer {
    ANSWER_NONE, /* no annotation */
    ANSWER_YES,
    ANSWER_NO,
    ANSWER_BAD, /* no part of it is valid; there is a warning */
};

/* Parses "true", "false" or a list of types, and sets their bits in *events ("true" selects the usual types). */
enum annotation_answer annotation_profile(struct wants *w, const struct policy *p, const char *key, const char *value,
                                          u32 *events);
/* Parses "true" or "false" only. */
enum annotation_answer annotation_bool(struct wants *w, const char *key, const char *value);
/* A number for all types, or TYPE=NUMBER for some, or both. */
void annotation_rate(struct wants *w, const struct policy *p, const char *key, const char *value);
/* How long waits are that have stacks: a number and us, ms or s. *ns stays as it is if it is none. */
void annotation_wait_min(struct wants *w, const char *key, const char *value, u64 *ns);
void annotation_service_name(struct wants *w, const char *key, const char *value);
/* Returns false if no container is named. */
bool annotation_containers(struct wants *w, const char *key, const char *value);

/* Adds the warning "key: ..." as one line without control characters, unless there is no room for further warnings. */
void wants_warn(struct wants *w, const char *key, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
