/* Test doubles of the parser's child: the test runner, started with another first argument. The "file" that they
 * receive tells them what to do.
 */
#pragma once
#include <stddef.h>

#define ROLE_WORKER "--parser-test-worker" /* the real child with other operations */
#define ROLE_LIAR   "--parser-test-liar"   /* violates the protocol */
#define ROLE_MUTE   "--parser-test-mute"   /* exits without a greeting */
#define ROLE_NAKED  "--parser-test-naked"  /* reports that it could not enter the sandbox */

/* A regular file, opened read-only, that says `order`. -1: there is none. */
int file_saying(const char *order);
int file_with(const void *data, size_t len);
