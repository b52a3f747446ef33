#include "base/test.h"
#include "cli/options/options.h"

static const char *color(size_t i)
{
    static const char *const names[] = {"red", "green", NULL};
    return names[i];
}

static const struct option_row rows[] = {
    {"loud", 'l', OPTION_BOOL, NULL, 0, .help = "be loud"},
    {"color", 'c', OPTION_TEXT, "COLOR", 0, .value = color, .fallback = "red", .help = "a color"},
    {"file", 0, OPTION_TEXT, "FILE", 0, .hint = HINT_FILE, .help = "a file"},
    {"a-folder-of-a-long-name", 0, OPTION_TEXT, "DIR", 0, .hint = HINT_DIRECTORY, .help = "a folder"},
    {"rate", 'F', OPTION_NUMBER, "HZ", 0, 1, 9, .fallback = "5", .help = "a rate"},
};
static const struct command paint = {.name = "paint",
                                     .operands = "[THING]",
                                     .help = "paint things",
                                     .details = "Paint dries.\n",
                                     .rows = rows,
                                     .nrows = sizeof(rows) / sizeof(*rows)};
static const struct command look = {.name = "look", .help = "look at things"};
static const struct command secret = {
    .name = "secret", .help = "nobody knows", .hidden = true, .rows = rows, .nrows = 1};
static const struct command *const all[] = {&paint, &look, &secret};

TEST(doc_help_of_a_command)
{
    AUTO_BUF struct buf out = {0};
    options_help(&paint, &out);
    options_help(&look, &out);
    buf_char(&out, 0);
    CHECK_STR(out.data,
              "Usage: xprof paint [OPTION...] [THING]\n\npaint things\n\nOptions:\n"
              "  -l, --loud                  be loud\n"
              "  -c, --color COLOR           a color [red]\n"
              "      --file FILE             a file\n"
              "      --a-folder-of-a-long-name DIR a folder\n"
              "  -F, --rate HZ               a rate [5]\n"
              "\nCOLOR for --color: red, green\n"
              "\nPaint dries.\n"
              "Usage: xprof look\n\nlook at things\n");
}

TEST(doc_overview_leaves_out_hidden_commands)
{
    AUTO_BUF struct buf out = {0};
    options_overview(all, 3, &out);
    buf_char(&out, 0);
    CHECK(strstr(out.data, "\nCommands:\n  paint       paint things\n  look        look at things\n\n"));
    CHECK(!strstr(out.data, "secret"));
}

/* Values are offered behind their option, flags of the command that is typed, and files where there is nothing better.
 */
TEST(doc_completion_offers_values_and_flags)
{
    AUTO_BUF struct buf out = {0};
    options_completion(all, 3, &out);
    buf_char(&out, 0);
    CHECK(strstr(out.data, "compgen -W \"paint look\" -- \"$cur\""));
    CHECK(strstr(out.data,
                 "paint)\n    case $prev in\n"
                 "    --color | -c) COMPREPLY=($(compgen -W \"red green\" -- \"$cur\")); return ;;\n"
                 "    --file) COMPREPLY=($(compgen -f -- \"$cur\")); return ;;\n"
                 "    --a-folder-of-a-long-name) COMPREPLY=($(compgen -d -- \"$cur\")); return ;;\n"
                 "    --rate | -F) COMPREPLY=(); return ;;\n"
                 "    esac\n    words=\"--help --loud --color --file --a-folder-of-a-long-name --rate\"\n    ;;\n"
                 "look)\n    case $prev in\n    esac\n    words=\"--help\"\n    ;;\nesac\n"));
    CHECK(!strstr(out.data, "secret"));
    CHECK(strstr(out.data, "\n_xprof_probes && return\n"));
    CHECK(strstr(out.data, "complete -o filenames -F _xprof xprof\n"));
}

TEST(doc_tables_for_the_readme)
{
    AUTO_BUF struct buf out = {0};
    options_markdown(all, 3, &out);
    buf_char(&out, 0);
    CHECK(strstr(out.data, "`xprof paint [OPTION...] [THING]`: paint things\n\n|"));
    CHECK(strstr(out.data,
                 "|---|---|---|\n"
                 "| `-l`, `--loud` |  | be loud |\n"
                 "| `-c`, `--color COLOR` | `red` | a color: `red`, `green` |\n"
                 "| `--file FILE` |  | a file |\n"
                 "| `--a-folder-of-a-long-name DIR` |  | a folder |\n"
                 "| `-F`, `--rate HZ` | `5` | a rate |\n\n"));
    CHECK(!strstr(out.data, "look") && !strstr(out.data, "secret"));
}
