#include "base/test.h"
#include "cli/commands.h"
#include "cli/split_test.h"
#include <errno.h>

struct sample {
    bool loud, all, light;
    const char *name, *color, *three;
    u64 rate, level, size, time;
    struct option_list files, words, colors, shades;
    struct option_numbers pids;
};
#define AT(field) offsetof(struct sample, field)
#define COUNT(a)  (sizeof(a) / sizeof((a)[0]))

static const char *color(size_t i)
{
    static const char *const names[] = {"red", "green", NULL};
    return names[i];
}

static const char *color_of(const char *text)
{
    return !strcasecmp(text, "red") ? "red" : NULL;
}

static const char *on_off(size_t i)
{
    static const char *const names[] = {"on", "off", NULL};
    return names[i];
}

static const struct option_row rows[] = {
    {"loud", 'l', OPTION_BOOL, NULL, AT(loud), .help = "be loud"},
    {"all", 'a', OPTION_BOOL, NULL, AT(all), .help = "take all"},
    {"light", 0, OPTION_SWITCH, "on/off", AT(light), .fallback = "on", .help = "make light"},
    {"name", 'n', OPTION_TEXT, "NAME", AT(name), .help = "a name"},
    {"color", 0, OPTION_TEXT, "COLOR", AT(color), .value = color, .fallback = "red", .help = "a color"},
    {"rate", 'F', OPTION_NUMBER, "HZ", AT(rate), 1, 10000, .fallback = "99", .help = "a rate"},
    {"level", 0, OPTION_NUMBER, "N", AT(level), 0, 9, .fallback = "3", .help = "a level"},
    {"size", 's', OPTION_SIZE, "SIZE", AT(size), 1 << 20, 1ull << 36, .help = "a size"},
    {"time", 't', OPTION_DURATION, "TIME", AT(time), 1000000, 3600000000000ull, .help = "a time"},
    {"file", 'o', OPTION_REPEAT, "FILE", AT(files), .hint = HINT_FILE, .help = "a file"},
    {"word", 'w', OPTION_LIST, "WORD,...", AT(words), .most = 3, .fallback = "x,y", .help = "words"},
    {"pid", 'p', OPTION_NUMBERS, "PID,...", AT(pids), 1, 4194304, .help = "processes"},
    {"colors", 0, OPTION_LIST, "COLOR,...", AT(colors), .value = color, .help = "colors"},
    {"shades", 0, OPTION_LIST, "COLOR,...", AT(shades), .value = color, .resolve = color_of, .listing = "paint",
     .help = "colors"},
    {"three", 0, OPTION_TEXT, "on/off", AT(three), .value = on_off, .help = "on, off, or not said"},
};
static const struct command strict = {
    .name = "test", .help = "a test", .rows = rows, .nrows = sizeof(rows) / sizeof(*rows)};
static const struct command open_ended = {
    .name = "test", .operands = "[COMMAND]", .help = "a test", .rows = rows, .nrows = sizeof(rows) / sizeof(*rows)};

struct outcome {
    struct sample o;
    struct buf message;
    char line[256];
    char *argv[MAX_ARGS + 1];
    int rc, argc, operands;
};

static void finish(struct outcome *t)
{
    options_free(&strict, &t->o);
    buf_free(&t->message);
}

static void parse(const struct command *c, const char *line, struct outcome *t)
{
    memset(t, 0, sizeof(*t));
    snprintf(t->line, sizeof(t->line), "%s", line);
    t->argc = split(t->line, t->argv);
    t->rc = options_parse(c, t->argc, t->argv, &t->o, &t->operands, &t->message);
    buf_char(&t->message, 0);
}
#define PARSED __attribute__((cleanup(finish))) struct outcome

TEST(options_switches)
{
    static const struct {
        const char *line;
        bool on;
        int operands;
    } cases[] = {{"", true, 0},
                 {"--light", true, 0},
                 {"--light=off", false, 0},
                 {"--light off", false, 0},
                 {"--light on -a", true, 0},
                 {"--light=on off", true, 1},
                 {"--light other", true, 1},
                 {"--light -- off", true, 1}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        PARSED t;
        parse(&open_ended, cases[i].line, &t);
        CHECK_STR(t.message.data, "");
        CHECK_EQ(t.o.light, cases[i].on);
        CHECK_EQ(t.argc - t.operands, cases[i].operands);
    }
}

TEST(options_spellings)
{
    static const char *const same[] = {"--name bob -F 7 -la", "--name=bob -F7 -l -a", "-nbob --rate=7 -al",
                                       "-n bob -laF7", "-laF 7 --name bob"};
    for (size_t i = 0; i < sizeof(same) / sizeof(*same); i++) {
        PARSED t;
        parse(&strict, same[i], &t);
        CHECK_STR(t.message.data, "");
        CHECK_EQ(t.rc, 0);
        CHECK_STR(t.o.name, "bob");
        CHECK_EQ(t.o.rate, 7);
        CHECK(t.o.loud && t.o.all);
    }
}

TEST(options_defaults)
{
    PARSED t;
    parse(&strict, "", &t);
    CHECK_EQ(t.rc, 0);
    CHECK_EQ(t.o.rate, 99);
    CHECK_EQ(t.o.level, 3);
    CHECK_STR(t.o.color, "red");
    CHECK(!t.o.name && !t.o.loud && !t.o.size);
    CHECK_EQ(t.o.words.n, 2);
    CHECK_STR(t.o.words.v[1], "y");
}

TEST(options_zero_is_a_value)
{
    PARSED t;
    parse(&strict, "--level 0", &t);
    CHECK_EQ(t.rc, 0);
    CHECK_EQ(t.o.level, 0);
}

TEST(options_lists)
{
    PARSED t;
    parse(&strict, "-o a,b -o c -w u,v --word w -p 1,2 -p3", &t);
    CHECK_EQ(t.rc, 0);
    CHECK_EQ(t.o.files.n, 2);
    CHECK_STR(t.o.files.v[0], "a,b");
    CHECK_EQ(t.o.words.n, 3); /* and not the default */
    CHECK_STR(t.o.words.v[2], "w");
    CHECK_EQ(t.o.pids.n, 3);
    CHECK_EQ(t.o.pids.v[2], 3);
}

TEST(options_lists_hold_what_aliases_stand_for)
{
    PARSED t;
    parse(&strict, "--shades RED", &t);
    CHECK_EQ(t.rc, 0);
    CHECK_EQ(t.o.shades.n, 1);
    CHECK_STR(t.o.shades.v[0], "red");
}

TEST(options_lists_with_blanks)
{
    PARSED t = {.operands = 0};
    char word[] = "--word", list[] = " u, v ,w", name[] = "test";
    char *argv[] = {name, word, list, NULL};
    t.rc = options_parse(&strict, 3, argv, &t.o, &t.operands, &t.message);
    CHECK_EQ(t.rc, 0);
    CHECK_STR(t.o.words.v[0], "u");
    CHECK_STR(t.o.words.v[1], "v");
    CHECK_STR(t.o.words.v[2], "w");
}

TEST(options_on_off_or_not_given)
{
    static const struct {
        const char *line, *value;
    } cases[] = {{"--three on", "on"}, {"--three true", "on"}, {"--three=NO", "off"}, {"--three false", "off"}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        PARSED t;
        parse(&strict, cases[i].line, &t);
        CHECK_STR(t.o.three, cases[i].value);
    }
    PARSED none;
    parse(&strict, "", &none);
    CHECK(!none.o.three);
}

TEST(options_amounts)
{
    static const struct {
        const char *line;
        u64 size, time;
    } good[] = {
        {"-s 2M -t 10s", 2 << 20, 10000000000ull},  {"-s 2097152 -t 10", 2 << 20, 10000000000ull},
        {"-s 1g -t 500ms", 1 << 30, 500000000},     {"-s 1024K -t 2m", 1 << 20, 120000000000ull},
        {"-s 2M -t 0.1s", 2 << 20, 100000000},      {"-s 2M -t 1.25", 2 << 20, 1250000000},
        {"-s 2M -t 1.0000001ms", 2 << 20, 1000000}, {"-s 64G -t 1h", 1ull << 36, 3600000000000ull},
    };
    for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
        PARSED t;
        parse(&strict, good[i].line, &t);
        CHECK_STR(t.message.data, "");
        CHECK_EQ(t.o.size, good[i].size);
        CHECK_EQ(t.o.time, good[i].time);
    }
}

TEST(options_operands)
{
    static const struct {
        const char *line;
        int first, n;
    } cases[] = {{"-l ls -a", 2, 4}, {"-l -- -a b", 3, 5}, {"-l", 2, 2}, {"-- ls", 2, 3}, {"- x", 1, 3}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        PARSED t;
        parse(&open_ended, cases[i].line, &t);
        CHECK_EQ(t.rc, 0);
        CHECK_EQ(t.operands, cases[i].first);
        CHECK_EQ(t.argc, cases[i].n);
        CHECK(!t.o.all);
    }
}

TEST(options_after_operands)
{
    static const struct command mixed = {
        .name = "test", .operands = "X...", .help = "a test", .mixed = true, .rows = rows, .nrows = COUNT(rows)};
    static const struct {
        const char *line, *operands;
        bool loud;
    } cases[] = {{"a -l b", "a b", true}, {"a b", "a b", false},
                 {"-l", "", true},        {"a -n x b -- -l c", "a b -l c", false},
                 {"-- -l", "-l", false},  {"a --name=x -l", "a", true}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO_BUF struct buf got = {0};
        PARSED t;
        parse(&mixed, cases[i].line, &t);
        CHECK_EQ(t.rc, 0);
        for (int k = t.operands; k < t.argc; k++)
            buf_printf(&got, "%s%s", k > t.operands ? " " : "", t.argv[k]);
        buf_char(&got, 0);
        CHECK_STR(got.data, cases[i].operands);
        CHECK_EQ(t.o.loud, cases[i].loud);
    }
}

TEST(options_mistakes_are_one_clear_line)
{
    static const struct {
        const char *line, *message;
    } cases[] = {
        {"--nope", "xprof test: unknown option --nope; see \"xprof test --help\"\n"},
        {"--nope=3", "xprof test: unknown option --nope; see \"xprof test --help\"\n"},
        {"--nam x", "xprof test: unknown option --nam; see \"xprof test --help\"\n"},
        {"-lz", "xprof test: unknown option -z; see \"xprof test --help\"\n"},
        {"--loud=1", "xprof test: --loud takes no value\n"},
        {"--name", "xprof test: --name needs a value: NAME\n"},
        {"-ln", "xprof test: -n (--name) needs a value: NAME\n"},
        {"--name=", "xprof test: --name: an empty NAME\n"},
        {"-F 0", "xprof test: --rate: 0 is not in the range 1..10000\n"},
        {"-F 10001", "xprof test: --rate: 10001 is not in the range 1..10000\n"},
        {"-F 99999999999999999999999", "xprof test: --rate: 99999999999999999999999 is not in the range 1..10000\n"},
        {"-F -1", "xprof test: --rate: \"-1\" is not a number\n"},
        {"-F 9x", "xprof test: --rate: \"9x\" is not a number\n"},
        {"-s 1K", "xprof test: --size: 1K is not in the range 1M..64G\n"},
        {"-s 99999999T", "xprof test: --size: 99999999T is not in the range 1M..64G\n"},
        {"-s 1X", "xprof test: --size: \"1X\" is not a size (such as 64M or 1G)\n"},
        {"-t 2h", "xprof test: --time: 2h is not in the range 1ms..1h\n"},
        {"-t 1.", "xprof test: --time: \"1.\" is not a duration (such as 500ms, 10s or 2m)\n"},
        {"-t 1.5.5s", "xprof test: --time: \"1.5.5s\" is not a duration (such as 500ms, 10s or 2m)\n"},
        {"-t 0.0001s", "xprof test: --time: 0.0001s is not in the range 1ms..1h\n"},
        {"-s 1.5G", "xprof test: --size: \"1.5G\" is not a size (such as 64M or 1G)\n"},
        {"-t 1d", "xprof test: --time: \"1d\" is not a duration (such as 500ms, 10s or 2m)\n"},
        {"-w a,b,c,d", "xprof test: --word: d is one too many: at most 3\n"},
        {"-w a,,b", "xprof test: --word: an empty item\n"},
        {"--colors red,green --colors red", "xprof test: --colors: red is listed twice\n"},
        {"--shades red,RED", "xprof test: --shades: red is listed twice\n"},
        {"--shades blue", "xprof test: --shades: unknown value \"blue\"; see \"paint\"\n"},
        {"--three maybe", "xprof test: --three: unknown value \"maybe\"; possible values: on, off\n"},
        {"-p 1,0", "xprof test: --pid: 0 is not in the range 1..4194304\n"},
        {"--color blue", "xprof test: --color: unknown value \"blue\"; possible values: red, green\n"},
        {"stray", "xprof test: unexpected argument \"stray\"\n"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        PARSED t;
        parse(&strict, cases[i].line, &t);
        CHECK_STR(t.message.data, cases[i].message);
        CHECK_EQ(t.rc, -EINVAL);
        CHECK_EQ(options_report(-ECANCELED, &(struct buf){0}), 0);
    }
}

TEST(options_help_names_every_option)
{
    static const char *const spellings[] = {"--help", "-h", "-lh", "-l --help --nope"};
    for (size_t i = 0; i < sizeof(spellings) / sizeof(*spellings); i++) {
        PARSED t;
        parse(&strict, spellings[i], &t);
        CHECK_EQ(t.rc, -ECANCELED);
        for (size_t k = 0; k < strict.nrows; k++)
            CHECK(strstr(t.message.data, strict.rows[k].flag) && strstr(t.message.data, strict.rows[k].help));
        CHECK(strstr(t.message.data, "COLOR for --color: red, green\n"));
    }
}

/* What is printed can be typed again, and says whether anything was given. */
TEST(options_values_as_they_would_be_typed)
{
    static const struct {
        const char *flag, *text;
        bool given;
    } expected[] = {{"loud", "on", true},   {"all", "off", true},  {"light", "off", true}, {"name", "", false},
                    {"color", "red", true}, {"rate", "7", true},   {"size", "64M", true},  {"time", "1500ms", true},
                    {"file", "", false},    {"word", "u,v", true}, {"pid", "1,23", true},  {"colors", "green", true},
                    {"three", "on", true},  {"level", "0", true}};
    PARSED t;
    parse(&strict, "-l --light=off -F7 --level=0 -s64M -t1500ms -wu,v -p1,23 --colors=green --three=on", &t);
    CHECK_STR(t.message.data, "");
    for (size_t i = 0; i < COUNT(expected); i++) {
        const struct option_row *row = rows;
        AUTO_BUF struct buf text = {0};
        while (strcmp(row->flag, expected[i].flag) != 0)
            row++;
        CHECK_EQ(options_format(row, &t.o, &text), expected[i].given);
        buf_char(&text, 0);
        CHECK_STR(text.data, expected[i].text);
    }
}

/* A source's value stands in for a flag that is not given; its place is in the message when it is wrong. */
static const char *from_notes(void *ctx, const struct option_row *row, size_t i, char *where, size_t len)
{
    static const char *const words[] = {"u", "v", NULL};
    snprintf(where, len, "notes:3");
    if (!strcmp(row->flag, "word"))
        return words[i];
    return !i && !strcmp(row->flag, ctx) ? "5" : NULL;
}

TEST(options_from_a_source)
{
    struct option_source source = {from_notes, (void *)"rate"}, wrong = {from_notes, (void *)"light"};
    struct option_source both[] = {source, {from_notes, (void *)"level"}};
    char name[] = "test", flag[] = "-F9";
    char *none[] = {name, NULL}, *rate[] = {name, flag, NULL};
    PARSED a = {.rc = 0}, b = {.rc = 0}, c = {.rc = 0};
    CHECK_EQ(options_parse_from(&strict, 1, none, both, 2, &a.o, &a.operands, &a.message), 0);
    CHECK(a.o.rate == 5 && a.o.level == 5 && a.o.words.n == 2);
    CHECK_STR(a.o.words.v[1], "v");
    CHECK_EQ(options_parse_from(&strict, 2, rate, &source, 1, &b.o, &b.operands, &b.message), 0);
    CHECK_EQ(b.o.rate, 9);
    CHECK_EQ(options_parse_from(&strict, 1, none, &wrong, 1, &c.o, &c.operands, &c.message), -EINVAL);
    buf_char(&c.message, 0);
    CHECK_STR(c.message.data, "xprof test: notes:3: \"5\" is neither on nor off\n");
}

TEST(options_rows_are_sound)
{
    size_t n;
    const struct command *const *all = commands(&n);
    for (size_t i = 0; i < n; i++) {
        CHECK(all[i]->nrows <= OPTIONS_MAX);
        for (size_t k = 0; k < all[i]->nrows; k++) {
            const struct option_row *r = &all[i]->rows[k];
            CHECK(r->help && (r->type == OPTION_BOOL) == !r->argument);
            CHECK(r->min <= r->max && r->letter != 'h' && !strpbrk(r->help, "|\n"));
            for (size_t j = 0; j < k; j++)
                CHECK(strcmp(r->flag, r[-(long)(j + 1)].flag) != 0 &&
                      (!r->letter || r->letter != r[-(long)(j + 1)].letter));
        }
    }
}
