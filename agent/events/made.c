#include "events/made.h"
#include "base/cleanup.h"
#include "events/condition.h"
#include "events/made_internal.h"
#include "events/pmu.h"
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

bool event_is_made(const char *name)
{
    static const char *const forms[] = {TRACEPOINT, SYSCALL,   UPROBE, URETPROBE, ULATENCY,
                                        KPROBE,     KRETPROBE, PERF,   USDT};
    for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++)
        if (made_is(name, forms[i]))
            return true;
    return false;
}

/* Up to the next comma: those of parameters are within parentheses and brackets, if these are all closed. */
static size_t up_to_comma(const char *text)
{
    size_t depth = 0, i = 0;
    for (; text[i] && (depth || text[i] != ','); i++) {
        depth += text[i] == '(' || text[i] == '[';
        depth -= depth && (text[i] == ')' || text[i] == ']');
    }
    return depth ? strcspn(text, ",") : i;
}

size_t event_item_length(const char *text)
{
    const char *slash = made_is(text, PERF) ? strchr(text, '/') : NULL, *end = slash ? strchr(slash + 1, '/') : NULL;
    size_t whole = end ? (size_t)(end - text) : 0;
    return whole + up_to_comma(text + whole);
}

const char *event_function_of(const char *text)
{
    const char *found = NULL;
    size_t depth = 0;
    for (const char *c = text; *c; c++) {
        depth += *c == '[';
        depth -= depth && *c == ']';
        if (*c == ':' && c[1] == ':')
            c++;
        else if (*c == ':' && !depth)
            found = c;
    }
    return found ? found + 1 : NULL;
}

const char *event_name_or_made(const char *name)
{
    return event_is_made(name) ? name : event_name_of(name);
}

/* ---- What it counts ---------------------------------------------------------------------------------------------- */

static const char *known_unit(const char *unit)
{
    static const char *const units[] = {"count", "bytes", "nanoseconds"};
    for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++)
        if (!strcmp(units[i], unit))
            return units[i];
    return NULL;
}

static int set_value(struct event_probe *p, const struct tracepoint *fields, const char *text, char *why, size_t len)
{
    const char *colon = strchr(text, ':'), *unit = colon ? known_unit(colon + 1) : "count";
    struct xp_tp_field place;
    if (made_is_timed(p)) {
        snprintf(why, len, "--value %s: %s counts time; record the field by itself", text, p->name);
        return -EINVAL;
    }
    snprintf(p->value, sizeof(p->value), "%.*s", (int)(colon ? (size_t)(colon - text) : strlen(text)), text);
    if (!unit) {
        snprintf(why, len, "--value %s: the unit is one of count, bytes, nanoseconds", text);
        return -EINVAL;
    }
    if (!condition_field(p->value, fields, &place) ||
        (place.source != XP_TP_SIGNED && place.source != XP_TP_UNSIGNED)) {
        snprintf(why, len, "--value %s: %s has no number of that name", text, p->name);
        return -EINVAL;
    }
    const char *name = condition_without_cast(p->value); /* it becomes part of type IDs */
    memmove(p->value, name, strlen(name) + 1);
    p->program.value = place;
    p->kind.values[0] = (struct event_value){p->value, unit, p->type};
    return 0;
}

/* What is known when a call ends: its time, beside its result. */
static void set_time(struct event_probe *p, struct tracepoint *fields)
{
    snprintf(p->value, sizeof(p->value), "%s_time", p->type);
    snprintf(p->count, sizeof(p->count), "%s_calls", p->type);
    p->kind.values[0] = (struct event_value){p->value, "nanoseconds", p->count};
    if (fields->nfields == TRACEPOINT_FIELDS)
        return;
    struct tracepoint_field *f = &fields->fields[fields->nfields++];
    *f = (struct tracepoint_field){LATENCY, "u64", {.size = 8, .source = XP_TP_ELAPSED, .late = 1}};
}

static void close_files(struct probe_places *places)
{
    for (size_t i = 0; places->files && i < places->n; i++)
        if (!i || places->files[i] != places->files[i - 1])
            close(places->files[i]);
    free(places->files);
}

static void made_free(struct event_probe **p)
{
    if (*p) {
        xp_cleanup_close(&(*p)->places.fd);
        close_files(&(*p)->places);
        free((*p)->places.offsets);
        free((*p)->places.counters);
        free((*p)->places.sites);
        free((*p)->places.file);
        free((*p)->places.function);
    }
    free(*p);
    *p = NULL;
}

/* An event of a PMU, which is sampled like those of the table. */
static int make_perf(struct event_probe *p, const struct event_choice *choice, char *why, size_t len)
{
    char line[384];
    struct pmu_event e;
    int rc = pmu_find(PMU_DEVICES, p->name + strlen(PERF), &e, line, sizeof(line));
    if (!rc && (choice->condition || choice->value)) {
        rc = -EINVAL;
        snprintf(line, sizeof(line), "it is sampled, and has no fields for --filter and --value");
    }
    if (rc) {
        snprintf(why, len, "-e %s: %s", p->name, line);
        return rc;
    }
    size_t n = 0;
    for (const char *c = p->name + strlen(PERF); *c && n + 1 < sizeof(p->type); c++)
        p->type[n++] = isalnum((unsigned char)*c) ? *c : '_'; /* it becomes part of type IDs */
    while (n && p->type[n - 1] == '_')
        p->type[--n] = 0;
    p->kind = (struct event_kind){
        .name = p->name,
        .probe = {.perf_type = e.type, .perf_config = e.config[0], .perf_more = {e.config[1], e.config[2]}},
        .values = {{p->type, "count", NULL}},
        .series = "pmu",
        .default_hz = 99,
        .cost = EVENT_COST_LOW,
        .needs = "PMU",
        .help = p->name,
    };
    p->kind.probe.every = choice->period;
    if (choice->as)
        made_name(p, choice->as);
    return 0;
}

static int make(struct event_probe *p, const struct event_choice *choice, char *why, size_t len)
{
    struct tracepoint fields = {0};
    char line[384] = "";
    if (made_is(p->name, PERF))
        return make_perf(p, choice, why, len);
    bool usdt = made_is(p->name, USDT), kernel = made_is(p->name, KPROBE) || made_is(p->name, KRETPROBE);
    bool function = !usdt && !kernel && !made_is(p->name, TRACEPOINT) && !made_is(p->name, SYSCALL);
    int rc = usdt       ? made_usdt(p, choice, &fields, why, len)
             : function ? made_function(p, choice, &fields, why, len)
             : kernel   ? made_kprobe(p, &fields, why, len)
                        : made_tracepoint(p, &fields, why, len);
    if (rc)
        return rc;
    p->kind.name = p->kind.help = p->name;
    p->kind.needs = p->places.file ? "5.15+" : "";
    p->kind.values[0] = (struct event_value){p->type, "count", ""};
    if (made_is_timed(p))
        set_time(p, &fields);
    p->kind.cost = function || usdt ? EVENT_COST_HIGH : EVENT_COST_MEDIUM;
    p->kind.probe.conditions = &p->program;
    p->program.period = (u32)choice->period;
    if (choice->value)
        rc = set_value(p, &fields, choice->value, why, len);
    if (!rc && choice->condition &&
        (rc = condition_compile(choice->condition, &fields, &p->program, line, sizeof(line))))
        snprintf(why, len, "--filter '%s': %s", choice->condition, line);
    if (usdt) {
        made_note_arguments(&p->program);
        p->places.arguments = p->program.arguments;
    }
    if (!rc && choice->as)
        made_name(p, choice->as);
    return rc;
}

const struct event_kind *event_make(struct event_made *made, const char *name, const struct event_choice *choice,
                                    char *why, size_t len)
{
    CLEANUP(made_free) struct event_probe *p = calloc(1, sizeof(*p));
    snprintf(why, len, "-e %s: out of memory", name);
    if (made->n == XP_MAX_EVENTS || !p)
        return NULL;
    p->places.fd = -1;
    snprintf(p->name, sizeof(p->name), "%s", name);
    if (strlen(name) >= sizeof(p->name))
        snprintf(why, len, "-e %.100s...: the name is too long", name);
    else if (!make(p, choice, why, len))
        return &(made->v[made->n++] = TAKE_PTR(p))->kind;
    return NULL;
}

void event_made_free(struct event_made *made)
{
    for (size_t i = 0; i < made->n; i++)
        made_free(&made->v[i]);
    made->n = 0;
}
