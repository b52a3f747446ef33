/* A queue with jobs that mean nothing, for tests of who puts and takes them. */
#pragma once
#include "pipeline/jobs.h"

/* Puts jobs until so many wait, or there is no room. */
void jobs_fill(struct jobs *jobs, size_t n);
void jobs_empty(struct jobs *jobs);
