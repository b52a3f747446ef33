/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 * The kernel's short type names, for user space. Include it before xprof.h.
 */
#pragma once
#include <stdint.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int16_t s16;
typedef int32_t s32;
typedef int64_t s64;
