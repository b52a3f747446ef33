/* xprof agent: profiles a machine's pods, containers and services until it is told to stop. */
#pragma once

/* The exit status: 0, 1 failure, 2 usage. */
int cli_agent(int argc, char **argv);
