/* Parses label selectors in the syntax of kubectl -l: requirements separated by commas, all of which must hold.
 *
 *   a=b  a==b  c!=d  e in (x,y)  f notin (x,y)  g  !h
 *
 * As there, `c!=d` and `f notin (..)` also hold for whoever has no such label. Parsed once, by the grammar of
 * apimachinery's labels.Parse; keys and values are checked as Kubernetes checks them, so that a typo is an error and
 * not a selector that matches nothing.
 */
#pragma once
#include "kube/pairs.h"
#include <stdbool.h>
#include <stddef.h>

#define SELECTOR_MAX_LENGTH (64 * 1024) /* bytes of text */

struct selector;

/* 0; -EINVAL, and `why` says what is wrong and where ("column 7: ..."); -ENOMEM. The empty text selects everything. */
int selector_parse(struct selector **out, const char *text, char *why, size_t size);
void selector_free(struct selector **s);
/* NULL selects everything. */
bool selector_matches(const struct selector *s, const struct kube_pairs *labels);
