/* The parts of the HTML page (agent/profile/page/), linked into the program: what page.html's marks stand for. */
#pragma once

extern const char page_html[]; /* NUL-terminated, with @TITLE@, @STYLE@, @DATA@, @SCRIPT@, @VERSION@ */
extern const char page_style[];
extern const char page_script[]; /* all scripts, one behind the other */
