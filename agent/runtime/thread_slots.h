/* Where C libraries have what pthread_getspecific returns, in bytes from the TLS base of a thread on (x86-64):
 *
 *   glibc    struct pthread has the values of the first 32 keys (specific_1stblock), and pointers to blocks of as many
 *   musl     struct pthread has a pointer to an array of values (tsd)
 */
#pragma once

#define GLIBC_FIRST   0x318 /* the value of key 0; a value each 16 bytes */
#define GLIBC_KEYS    32    /* of a block */
#define GLIBC_BLOCKS  0x510 /* pointers to blocks of values, of keys from 32 on */
#define GLIBC_END     0x610
#define GLIBC_BLOCK   512
#define GLIBC_SELF    0x10  /* the TLS base once more */
#define MUSL_POINTERS 0x120 /* where the pointer to the values is, at most */
#define MUSL_VALUES   1024  /* bytes */
