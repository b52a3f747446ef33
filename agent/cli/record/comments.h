/* What a profile says of its recording: command, host, version. */
#pragma once
#include "profile/profile.h"

void comments_add(struct profile *p, int argc, char **argv);
