/* The parts of the HTML page (agent/profile/page/), linked into the program. They replace the marks in page.html. */
#pragma once

extern const char page_html[]; /* NUL-terminated, with @TITLE@, @STYLE@, @DATA@, @SCRIPT@, @VERSION@ */
extern const char page_style[];
extern const char page_script[]; /* all scripts, concatenated */
