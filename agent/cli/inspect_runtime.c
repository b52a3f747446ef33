/* What inspect says of the runtime of a process, a virtual machine for example. */
#include "base/cleanup.h"
#include "base/log.h"
#include "cli/inspect.h"
#include "parser/parser.h"
#include <errno.h>
#include <string.h>

/* Lines of a key, a tab and a text, which the parser's client has checked. */
static void add_lines(const char *at, size_t len, bool json, struct buf *out)
{
    const char *separator = "";
    for (const char *end = at + len, *tab, *line; at < end; at = line + 1) {
        tab = memchr(at, '\t', (size_t)(end - at));
        line = memchr(tab, '\n', (size_t)(end - tab));
        AUTO_FREE char *text = strndup(tab + 1, (size_t)(line - tab - 1));
        if (!text) {
            out->failed = true;
            return;
        }
        buf_printf(out, json ? "%s\"%.*s\":" : "%s  %-12.*s", separator, (int)(tab - at), at);
        if (json)
            buf_json(out, text);
        else
            buf_printf(out, "%s\n", text);
        separator = json ? "," : "";
    }
}

void inspect_runtime(struct binaries *b, u32 pid, bool json, struct buf *out)
{
    CLEANUP(parser_reply_free) struct parser_reply about = {0};
    int rc = binaries_about(b, pid, &about);
    if (!rc) {
        buf_str(out, json ? ",\"runtime\":{" : "runtime\n");
        add_lines(about.data, about.len, json, out);
        buf_str(out, json ? "}" : "");
    } else if (rc != -ENODATA) {
        log_warn("process %u: its runtime cannot be read: %s", pid,
                 rc == -ENOTSUP  ? "its structures are not known; frame pointers and perf maps are used"
                 : rc == -EAGAIN ? "it still starts"
                                 : strerror(-rc));
    }
}
