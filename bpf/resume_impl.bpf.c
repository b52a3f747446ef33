/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * Late user stacks by task work, for Linux 6.18 and 6.19: the function's name and parameters are others there. Not in
 * one object, because libbpf refuses a function whose parameters differ from the kernel's, even where it is not needed.
 */
#define XP_TASK_WORK_IMPL
#include "bpf/resume.bpf.h"
