/* reflect from inside: reflect.c has the order of calls and the list, reflect_watch.c the watch. */
#pragma once
#include "kube/outcome.h"
#include "kube/reflect.h"

#define REFLECT_IDLE_MS (30 * 1000) /* without a byte of an answer that is due */

/* ---- reflect.c ---- */

/* An object as it is now, and the text (n bytes) that said so. */
void reflect_apply(struct reflect *r, const struct json *object, const char *text, size_t n);
void reflect_skip_malformed(struct reflect *r);
void reflect_note_answer(struct reflect *r);
/* All is well for a while now: the next failure is news. */
void reflect_note_steady(struct reflect *r);
/* In ms: twice the last one, with jitter. */
u64 reflect_next_pause(struct reflect *r, unsigned longest);

/* ---- reflect_watch.c ---- */

struct outcome reflect_watch(struct reflect *r, const volatile bool *stop);
