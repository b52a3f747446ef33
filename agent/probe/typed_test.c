#include "probe/typed.h"
#include "base/test.h"

/* As many times as there are probes in a process, one after the other. */
TEST(typed_programs_may_begin_again)
{
    for (int i = 0; i < 4; i++) {
        struct typed t;
        CHECK_EQ(typed_begin(&t), 0);
        CHECK(t.handlers[0] && t.handlers[1] && t.handlers[0] != t.handlers[1]);
        CHECK_STR(t.type[0].name, "bpf_iter_task_vma");
        typed_end(&t);
        CHECK(!t.handlers[0]);
    }
}
