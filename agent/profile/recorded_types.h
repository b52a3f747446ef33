/* Which values of which kinds of events the sample types of a pprof file are, by the names that encoders give them
 * (pprof.c).
 */
#pragma once
#include "profile/profile.h"

#define RECORDED_TYPES (2 * PROF_COLUMNS + 1)

struct recorded_place { /* what a number of a sample is */
    u8 event;           /* of the profile */
    u8 value;           /* of that event */
    enum { PLACE_NOTHING, PLACE_COUNT, PLACE_SUM, PLACE_SAMPLES } what;
};

/* `names`: those of the sample types; of more than RECORDED_TYPES, the rest is ignored. Fills in `places`, and the
 * kinds in the order of their first types. Types that are no kind's are PLACE_NOTHING, except for the number of samples
 * that kinds share. Returns the number of kinds. */
size_t recorded_types(const char *const *names, size_t n, struct recorded_place places[RECORDED_TYPES],
                      const struct event_kind *kinds[XP_MAX_EVENTS]);

/* Makes kinds of those types that are PLACE_NOTHING, which become the profile's, with its other ones: probes have types
 * of their own (events/made.h), other programs have many. `units`: those of the types. Returns 0 or -ENOMEM. */
int recorded_other_types(struct profile *p, const char *const *names, const char *const *units, size_t n,
                         struct recorded_place places[RECORDED_TYPES]);

/* Finds the periods of kinds whose samples a clock takes, but for those that are known (above 1): a file says the one
 * of one kind only, but each sample stands for as much. Once the samples are read. */
void recorded_periods(struct profile *p);
