/* Parses label selectors in the syntax of kubectl -l: requirements separated by commas, all of which must hold.
 *
 *   a=b  a==b  c!=d  e in (x,y)  f notin (x,y)  g  !h
 *
 * As in kubectl, `c!=d` and `f notin (..)` also match objects without that label. The grammar is that of labels.Parse
 * in apimachinery. Keys and values are validated as in Kubernetes, so that a typo is an error and not a selector that
 * matches nothing.
 */
#pragma once
#include "kube/pairs.h"
#include <stdbool.h>
#include <stddef.h>

#define SELECTOR_MAX_LENGTH (64 * 1024) /* bytes of text */

struct selector;

/* Returns 0; -EINVAL, with the error and its position in `why` ("column 7: ..."); -ENOMEM. The empty text selects
 * everything. */
int selector_parse(struct selector **out, const char *text, char *why, size_t size);
void selector_free(struct selector **s);
/* Returns the key of the i-th requirement; NULL past the last one, or if `s` is NULL. */
const char *selector_key(const struct selector *s, size_t i);
/* NULL selects everything. */
bool selector_matches(const struct selector *s, const struct kube_pairs *labels);
