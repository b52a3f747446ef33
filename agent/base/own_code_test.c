#include "base/own_code.h"
#include "base/test.h"
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

TEST(own_code_is_in_the_file_where_it_is_said_to_be)
{
    uintptr_t address = (uintptr_t)own_code_offset;
    uint8_t in_file[16];
    int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    CHECK_EQ(pread(fd, in_file, sizeof(in_file), (off_t)own_code_offset(address)), sizeof(in_file));
    CHECK(!memcmp(in_file, (const void *)address, sizeof(in_file)));
    CHECK_EQ(own_code_offset((uintptr_t)in_file), 0);
    close(fd);
}
