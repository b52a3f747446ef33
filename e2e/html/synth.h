/* Made-up profiles, built straight as a struct profile: the same ones every time. */
#pragma once
#include "profile/profile.h"

/* Each fills an empty profile; 0 or -ENOMEM. */
int synth_demo(struct profile *p);
int synth_many(struct profile *p); /* 100,000 distinct stacks */
int synth_hostile(struct profile *p);
int synth_inlines(struct profile *p); /* helper is inlined into serve, and called by it */
int synth_scripts(struct profile *p); /* frames of JavaScript among native ones */
int synth_waits(struct profile *p);   /* what threads did on a CPU, and what they waited for */
