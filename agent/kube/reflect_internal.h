/* Declarations shared by reflect.c (order of calls, list) and reflect_watch.c (watch). */
#pragma once
#include "kube/outcome.h"
#include "kube/reflect.h"

#define REFLECT_IDLE_MS (30 * 1000) /* maximum time without a byte while a response is expected */

/* ---- reflect.c ---- */

/* Parses the text of an object, or of an event with one. Returns 0 or -errno. */
int reflect_parse(struct reflect *r, struct json **out, const char *text, size_t n);
/* Applies an object of the text that was parsed last. */
void reflect_apply(struct reflect *r, const struct json *object);
void reflect_skip_malformed(struct reflect *r);
void reflect_note_answer(struct reflect *r);
/* Notes that calls have succeeded for a while, so that the next failure is reported. */
void reflect_note_steady(struct reflect *r);
/* Returns the next delay in ms: twice the last one, with jitter. */
u64 reflect_next_pause(struct reflect *r, unsigned longest);

/* ---- reflect_watch.c ---- */

struct outcome reflect_watch(struct reflect *r, const volatile bool *stop);
