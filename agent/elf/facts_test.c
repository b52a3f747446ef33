#include "elf/facts.h"
#include "base/cleanup.h"
#include "base/test.h"
#include <fcntl.h>
#include <unistd.h>

TEST(facts_of_this_program)
{
    struct facts f;
    u64 address, offset;
    AUTO_CLOSE int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    CHECK_EQ(facts_read(fd, &f), 0);
    CHECK(facts_sound(&f, sizeof(f)));
    CHECK(f.nsegments >= 1 && f.dynamic && f.symbols > 100);
    CHECK(facts_address(&f, f.segments[0].offset + 16, &address));
    CHECK_EQ(address, f.segments[0].vaddr + 16);
    CHECK(facts_offset(&f, address, &offset));
    CHECK_EQ(offset, f.segments[0].offset + 16);
    CHECK(!facts_offset(&f, f.segments[0].vaddr + f.segments[0].size, &offset));
    CHECK(!facts_offset(&f, f.segments[0].vaddr - 1, &offset));
}

TEST(facts_that_lie_are_refused)
{
    struct facts f = {.magic = FACTS_MAGIC};
    CHECK(facts_sound(&f, sizeof(f)));
    CHECK(!facts_sound(&f, sizeof(f) - 1));
    f.nsegments = FACTS_SEGMENTS + 1;
    CHECK(!facts_sound(&f, sizeof(f)));
    f.nsegments = 0;
    memset(f.language, 'x', sizeof(f.language));
    CHECK(!facts_sound(&f, sizeof(f)));
}
