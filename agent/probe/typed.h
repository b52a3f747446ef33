/* Programs of the first object that are attached to what has a type in the kernel: typed tracepoints and iterators.
 * libbpf finds the number of such a type itself, but reads all types of the kernel for that, which takes it 15 ms and
 * 10 MB. They are looked through for the excerpt anyway (kernel_types.h), so that these programs have sections that
 * libbpf does not know, and get their numbers from there.
 */
#pragma once
#include "probe/kernel_types.h"

#define TYPED_MAX 5

struct typed {
    struct kernel_type type[TYPED_MAX];
    int handlers[2]; /* numbers + 1; 0: none */
};

/* Makes libbpf take programs of these sections, of objects that are opened from now on, until typed_end. `t` stays
 * where it is. Returns 0 or -errno. */
int typed_begin(struct typed *t);
void typed_end(struct typed *t);
