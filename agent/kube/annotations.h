/* annotations: the values of single annotations, read strictly. Each reader takes the text that somebody wrote on a
 * pod, fills its part of `struct wants`, and adds a warning for whatever it did not understand. `key` is for the
 * warnings.
 */
#pragma once
#include "kube/policy.h"

#define ANNOTATION_MAX 1024 /* bytes; a longer value is a warning */

/* What a value of xprof.io/profile asks for. */
enum annotation_answer {
    ANSWER_NONE, /* nothing was said */
    ANSWER_YES,
    ANSWER_NO,
    ANSWER_BAD, /* nothing of it was understood: a warning says what */
};

/* "true", "false" or a list of types, whose bits go to *events (those of "true" are the usual ones). */
enum annotation_answer annotation_profile(struct wants *w, const struct policy *p, const char *key, const char *value,
                                          u32 *events);
/* "true" or "false" alone. */
enum annotation_answer annotation_bool(struct wants *w, const char *key, const char *value);
void annotation_rate(struct wants *w, const struct policy *p, const char *key, const char *value);
void annotation_service_name(struct wants *w, const char *key, const char *value);
/* False when not one container is named. */
bool annotation_containers(struct wants *w, const char *key, const char *value);

/* One clean line, "key: ...", as long as there is room. */
void wants_warn(struct wants *w, const char *key, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
