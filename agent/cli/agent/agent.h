/* xprof agent: profiles the pods, containers and services of a machine until it is stopped. */
#pragma once

/* Returns the exit status: 0; 1: failure; 2: usage error. */
int cli_agent(int argc, char **argv);
