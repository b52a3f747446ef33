/* Options of xprof list. */
#pragma once
#include <stdbool.h>

struct list_options {
    bool json;
    const char *cri_socket; /* NULL: the first known one */
};
