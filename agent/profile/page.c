/* Paths are relative to the root of the repository, where the compiler runs. make knows that this file depends on
 * agent/profile/page/ (see the Makefile). */
#include "profile/page.h"

__asm__(
    ".section .rodata\n"
    ".global page_html, page_style, page_script\n"
    "page_html: .incbin \"agent/profile/page/page.html\"\n"
    ".byte 0\n"
    "page_style: .incbin \"agent/profile/page/style.css\"\n"
    ".byte 0\n"
    "page_script: .incbin \"agent/profile/page/model.js\"\n"
    ".incbin \"agent/profile/page/view.js\"\n"
    ".incbin \"agent/profile/page/graph.js\"\n"
    ".incbin \"agent/profile/page/table.js\"\n"
    ".incbin \"agent/profile/page/main.js\"\n"
    ".byte 0\n"
    ".previous\n");
