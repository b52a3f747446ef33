/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * Late user stacks by task work, for kernels where its function has a public name.
 */
#include "bpf/resume.bpf.h"
