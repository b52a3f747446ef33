/* Doubles of the parser's child: the test runner, started with another first argument. What they do is written in the
 * "file" that they get.
 */
#pragma once

#define ROLE_WORKER "--parser-test-worker" /* the real child with other work */
#define ROLE_LIAR   "--parser-test-liar"   /* speaks the protocol, badly */
#define ROLE_MUTE   "--parser-test-mute"   /* leaves without a greeting */
#define ROLE_NAKED  "--parser-test-naked"  /* could not lock itself in */
