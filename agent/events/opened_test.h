/* A tracepoint for tests of conditions, as tracefs describes it. */
#pragma once
#include "base/test.h"
#include "probe/tracefs.h"
#include <string.h>

static const char FORMAT[] =
    "name: opened\n"
    "ID: 365\n"
    "format:\n"
    "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
    "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n"
    "\n"
    "\tfield:__data_loc char[] filename;\toffset:8;\tsize:4;\tsigned:0;\n"
    "\tfield:int ret;\toffset:12;\tsize:4;\tsigned:1;\n"
    "\tfield:unsigned long flags;\toffset:16;\tsize:8;\tsigned:0;\n"
    "\tfield:char comm[16];\toffset:24;\tsize:16;\tsigned:0;\n"
    "\tfield:const char * path;\toffset:40;\tsize:8;\tsigned:0;\n"
    "\tfield:u8 addr[4];\toffset:48;\tsize:4;\tsigned:0;\n"
    "\tfield:void * page;\toffset:56;\tsize:8;\tsigned:0;\n"
    "\tfield:__data_loc u8[] raw;\toffset:64;\tsize:4;\tsigned:0;\n"
    "\tfield:int fd;\toffset:112;\tsize:8;\tsigned:0;\n"
    "\tfield:const uid_t uid;\toffset:120;\tsize:8;\tsigned:0;\n"
    "\tfield:loff_t wide;\toffset:128;\tsize:8;\tsigned:0;\n"
    "\n"
    "print fmt: \"%s\", __get_str(filename)\n";

static inline void read_fields(struct tracepoint *out)
{
    char text[sizeof(FORMAT)];
    memcpy(text, FORMAT, sizeof(text));
    CHECK_EQ(tracefs_format(text, out), 0);
}
