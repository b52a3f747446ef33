/* Stacks of Python that was told to write a map for profilers (-X perf): each function is called through a piece of
 * generated code, which has the function's name in the map. */
#pragma once
#include "profile/profile.h"

/* Leaves out these frames in stacks that have the functions themselves. Once all frames have names. */
void python_frames_fold(struct profile *p);
