/* Says what a thread waited for that sleeps in the kernel's futex code, from the user functions that it waited in: a
 * lock, or something else that is made of the same. Pure: names go in, a kind comes out.
 *
 *     lock_function -> what the table says about one function: worth keeping, as stacks share functions
 *     lock_decide   -> the kind of a wait in a stack of them
 *
 * A new function is a word in the table in lock_kinds.c; docs/waiting.md explains the kinds.
 */
#pragma once
#include "bpf/types.h"
#include <stddef.h>

enum lock_kind {
    LOCK_KIND_LOCK,
    LOCK_KIND_CONDITION,
    LOCK_KIND_SEMAPHORE,
    LOCK_KIND_BARRIER,
    LOCK_KIND_JOIN,
    LOCK_KIND_IDLE,
    LOCK_KIND_COUNT
};

/* 0: the function says nothing. Otherwise a kind + 1 in bits 0-3, and its weight in bits 4-7. */
typedef u8 lock_word;

/* `name` as people see it, perhaps with template arguments, arguments and a return type; or as in the symbol table. */
lock_word lock_function(const char *name);
/* Returns the kind of a wait. `functions`: what lock_function returned for n functions, leaf first. The greatest weight
 * decides, and of equal ones the one next to the leaf. Of functions that say nothing it is a lock. */
enum lock_kind lock_decide(const lock_word *functions, size_t n);
/* Returns what a lock is called that is only known by the function that takes it, such as the GIL, and that may consist
 * of several words in memory; NULL: its variable says it. `function`: the name that people see. */
const char *lock_called(const char *function);
