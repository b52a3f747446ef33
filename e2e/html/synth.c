#include "synth.h"
#include "base/hash.h"
#include "runtime/kinds.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define PERIOD 10101010 /* 99 Hz */

/* ---- Rows -------------------------------------------------------------------------------------------------------- */

static u32 mapping(struct profile *p, const char *name)
{
    u32 s = profile_string(p, name);
    for (u32 i = 0; i < p->mappings.n; i++)
        if (p->mappings.v[i].name == s)
            return i;
    *VEC_PUSH(&p->mappings) = (struct prof_mapping){.name = s, .lo = 0x1000, .hi = 0xffffff, .has_functions = true};
    return (u32)p->mappings.n - 1;
}

/* A new location (and function) of this name. */
static u32 location(struct profile *p, const char *name, u32 map, const char *file, u32 line, u8 origin)
{
    u32 s = profile_string(p, name);
    *VEC_PUSH(&p->functions) =
        (struct prof_function){.name = s, .system_name = s, .file = profile_string(p, file ? file : "")};
    *VEC_PUSH(&p->lines) = (struct prof_line){.function = (u32)p->functions.n - 1, .line = line};
    *VEC_PUSH(&p->locations) = (struct prof_location){.address = 0x1000 + 16 * p->locations.n,
                                                      .mapping = map,
                                                      .first_line = (u32)p->lines.n - 1,
                                                      .nlines = 1,
                                                      .origin = origin};
    return (u32)p->locations.n - 1;
}

static u32 process(struct profile *p, const char *name, u32 tgid)
{
    *VEC_PUSH(&p->processes) = (struct prof_process){.name = profile_string(p, name), .tgid = tgid};
    return (u32)p->processes.n - 1;
}

/* Root first. */
static void stack(struct profile *p, u32 who, u8 cause, u64 count, const u32 *locations, u32 n)
{
    struct prof_stack s = {.process = who, .first = (u32)p->stack_locations.n, .n = n, .cause = cause};
    struct prof_stack second = s;
    s.count[0] = count;
    s.value[0] = count * PERIOD;
    second.event = 1;
    second.count[0] = (count * 7 + n) % 23;
    second.value[0] = second.count[0] * (n % 5 + 1);
    while (n--)
        *VEC_PUSH(&p->stack_locations) = locations[n];
    *VEC_PUSH(&p->stacks) = s;
    if (p->nevents > 1)
        *VEC_PUSH(&p->stacks) = second;
}

static void about(struct profile *p, const char *command)
{
    char text[256];
    p->events[0] = event_kind_find("cpu");
    p->period[0] = PERIOD;
    p->nevents = 1;
    p->time_ns = 1767225600ull * 1000000000;
    p->duration_ns = 10000000000ull;
    snprintf(text, sizeof(text), "command: %s", command);
    *VEC_PUSH(&p->comments) = profile_string(p, text);
    *VEC_PUSH(&p->comments) = profile_string(p, "host: node-3.example, Linux 6.12, 16 CPUs");
}

/* ---- demo -------------------------------------------------------------------------------------------------------- */

/* "file:function" pieces, root first, separated by spaces: "nginx:main nginx:ngx_worker k:do_syscall_64"; j: and i: are
 * code of a JIT and of an interpreter. */
static void story(struct profile *p, u32 who, u8 cause, u64 count, const char *text)
{
    u32 locations[64], n = 0;
    char copy[2048], *save = NULL;
    snprintf(copy, sizeof(copy), "%s", text);
    for (char *piece = strtok_r(copy, " ", &save); piece && n < 64; piece = strtok_r(NULL, " ", &save)) {
        char *colon = strchr(piece, ':'), path[256], source[256];
        bool kernel = piece[0] == 'k' && colon == piece + 1,
             jit = (piece[0] == 'j' || piece[0] == 'i') && colon == piece + 1;
        *colon = 0;
        const char *name = colon + 1;
        u32 line = (u32)(hash_bytes(name, strlen(name), 0) % 900);
        snprintf(path, sizeof(path), strstr(piece, ".so") ? "/usr/lib/x86_64-linux-gnu/%s" : "/usr/sbin/%s", piece);
        snprintf(source, sizeof(source), "src/%s.c", name);
        u32 map = mapping(p, kernel ? "[kernel.kallsyms]" : jit ? "[anon]" : path);
        bool lines = !kernel && !jit && !strstr(piece, ".so");
        locations[n++] = location(p, name, map, lines ? source : NULL, lines ? line : 0,
                                  kernel ? FRAME_KERNEL
                                  : jit  ? FRAME_JIT
                                         : FRAME_NATIVE);
        if (piece[0] == 'i' && jit)
            p->lines.v[p->locations.v[locations[n - 1]].first_line].code = RUNTIME_INTERPRETED;
    }
    stack(p, who, cause, count, locations, n);
}

#define NGINX                                                                                        \
    "libc.so.6:__libc_start_main nginx:main nginx:ngx_master_process_cycle nginx:ngx_spawn_process " \
    "nginx:ngx_worker_process_cycle nginx:ngx_process_events_and_timers "
#define HTTP NGINX "nginx:ngx_epoll_process_events nginx:ngx_http_process_request nginx:ngx_http_core_run_phases "
#define SYS  "k:entry_SYSCALL_64_after_hwframe k:do_syscall_64 "
#define SEND                                                  \
    HTTP "nginx:ngx_http_writev_filter libc.so.6:writev " SYS \
         "k:__x64_sys_writev k:vfs_writev k:sock_write_iter " \
         "k:tcp_sendmsg k:tcp_sendmsg_locked "
#define NODE \
    "node:_start node:node::Start node:node::SpinEventLoop node:uv_run node:v8::Function::Call j:Builtins_JSEntry "
#define HANDLE NODE "i:~onRequest j:*handle j:*render "
#define GCC    "cc1plus:main cc1plus:toplev::main cc1plus:compile_file cc1plus:symbol_table::finalize_compilation_unit "

/* Processes: name, stacks and their weights. */
static void nginx_stories(struct profile *p, u32 who, u64 f)
{
    story(p, who, XP_CAUSE_END, 21 * f,
          HTTP "nginx:ngx_http_gzip_body_filter libz.so.1:deflate libz.so.1:deflate_fast");
    story(p, who, XP_CAUSE_END, 48 * f,
          HTTP "nginx:ngx_http_gzip_body_filter libz.so.1:deflate libz.so.1:longest_match");
    story(p, who, XP_CAUSE_END, 9 * f, HTTP "nginx:ngx_http_gzip_body_filter libz.so.1:crc32_z");
    story(p, who, XP_CAUSE_END, 31 * f,
          HTTP "nginx:ngx_ssl_write libssl.so.3:SSL_write libcrypto.so.3:aesni_ctr32_encrypt_blocks");
    story(p, who, XP_CAUSE_END, 12 * f, HTTP "nginx:ngx_ssl_write libssl.so.3:SSL_write libcrypto.so.3:gcm_ghash_avx");
    story(p, who, XP_CAUSE_END, 24 * f, SEND "k:skb_copy_datagram_from_iter k:copy_user_enhanced_fast_string");
    story(p, who, XP_CAUSE_END, 17 * f,
          SEND "k:tcp_push k:__tcp_push_pending_frames k:tcp_write_xmit k:__ip_queue_xmit");
    story(p, who, XP_CAUSE_END, 8 * f, SEND "k:tcp_push k:__tcp_push_pending_frames k:tcp_write_xmit k:tcp_ack");
    story(p, who, XP_CAUSE_END, 14 * f, HTTP "nginx:ngx_http_parse_header_line");
    story(p, who, XP_CAUSE_END, 6 * f,
          NGINX "nginx:ngx_epoll_process_events libc.so.6:epoll_wait " SYS "k:do_epoll_wait k:schedule");
    story(p, who, XP_CAUSE_NO_RULE, 4 * f, "nginx:ngx_vslprintf libcrypto.so.3:x25519_fe64_mul");
}

static void node_stories(struct profile *p, u32 node)
{
    story(p, node, XP_CAUSE_END_FP, 60, HANDLE "j:*escapeHtml");
    story(p, node, XP_CAUSE_END_FP, 35,
          HANDLE "j:*escapeHtml j:Builtins_StringPrototypeReplace j:Builtins_RegExpExecInternal");
    story(p, node, XP_CAUSE_END_FP, 52, HANDLE "j:*renderTemplate j:*escapeHtml");
    story(p, node, XP_CAUSE_END_FP, 26,
          HANDLE "j:Builtins_JsonStringify node:v8::internal::JsonStringifier::Serialize_");
    story(p, node, XP_CAUSE_END_FP, 22,
          NODE
          "node:v8::internal::Heap::CollectGarbage node:v8::internal::Scavenger::Process "
          "libc.so.6:__memmove_avx_unaligned_erms");
    story(p, node, XP_CAUSE_END_FP, 13,
          NODE "node:v8::internal::Heap::CollectGarbage node:v8::internal::MarkCompactCollector::MarkLiveObjects");
    story(p, node, XP_CAUSE_END_FP, 11,
          NODE "libc.so.6:malloc libc.so.6:_int_malloc libc.so.6:sysmalloc libc.so.6:brk " SYS
               "k:__x64_sys_brk k:do_brk_flags k:clear_page_erms");
    story(p, node, XP_CAUSE_FP_ANON_END, 7, "j:*anonymous j:*parseCookies");
}

static void gcc_stories(struct profile *p, u32 gcc)
{
    story(p, gcc, XP_CAUSE_END, 45,
          GCC "cc1plus:expand_all_functions cc1plus:execute_pass_list cc1plus:rest_of_handle_cse cc1plus:cse_main");
    story(p, gcc, XP_CAUSE_END, 38,
          GCC "cc1plus:expand_all_functions cc1plus:execute_pass_list cc1plus:ira cc1plus:ira_color");
    story(p, gcc, XP_CAUSE_END, 33,
          GCC "cc1plus:analyze_functions cc1plus:cgraph_node::analyze cc1plus:gimplify_function_tree");
    story(p, gcc, XP_CAUSE_END, 29,
          "cc1plus:main cc1plus:toplev::main cc1plus:compile_file cc1plus:c_parse_file "
          "cc1plus:cp_parser_translation_unit cc1plus:cp_parser_class_specifier cc1plus:instantiate_class_template");
    story(p, gcc, XP_CAUSE_END, 9,
          GCC
          "cc1plus:expand_all_functions cc1plus:ggc_collect "
          "k:asm_exc_page_fault k:do_user_addr_fault k:handle_mm_fault k:clear_page_erms");
    story(p, gcc, XP_CAUSE_DEPTH, 5,
          "cc1plus:fold_binary_loc cc1plus:fold_binary_loc cc1plus:fold_binary_loc cc1plus:fold_binary_loc");
}

int synth_demo(struct profile *p)
{
    about(p, "xprof record -a -d 10s -o demo.html");
    p->events[1] = event_kind_find("page-faults");
    p->period[1] = 1;
    p->nevents = 2;
    nginx_stories(p, process(p, "nginx", 811), 3);
    nginx_stories(p, process(p, "nginx", 812), 1);
    node_stories(p, process(p, "node", 1044));
    gcc_stories(p, process(p, "cc1plus", 20231));
    story(p, process(p, "kworker/3:1", 61), XP_CAUSE_KTHREAD, 11,
          "k:ret_from_fork k:kthread k:worker_thread k:process_one_work k:wb_workfn k:ext4_writepages");
    return 0;
}

/* ---- many -------------------------------------------------------------------------------------------------------- */

/* Random descents through a made-up program of 20,000 functions: 15 to 60 deep. Most calls take the usual way, the
 * innermost three any, so that no stack is like another. */
int synth_many(struct profile *p)
{
    enum { FUNCTIONS = 20000, STACKS = 100000 };
    about(p, "xprof record -a -d 60s -o many.html");
    u32 first = 0, processes[24];
    for (u32 i = 0; i < FUNCTIONS; i++) {
        char name[160], map[64];
        snprintf(name, sizeof(name),
                 "module_%u::Class%u<std::vector<int>>::method_%u(unsigned long, std::string const&)", i % 97, i % 1009,
                 i);
        snprintf(map, sizeof(map), "/usr/lib/libmodule%u.so", i % 97);
        first = i ? first : (u32)p->locations.n;
        location(p, name, mapping(p, map), NULL, 0, i % 7 == 0 ? FRAME_KERNEL : FRAME_NATIVE);
    }
    for (u32 i = 0; i < 24; i++) { /* two of each name */
        char name[32];
        snprintf(name, sizeof(name), "worker-%u", i % 12);
        processes[i] = process(p, name, 1000 + i);
    }
    for (u32 i = 0; i < STACKS; i++) {
        u32 locations[64], n = 15 + (u32)(hash_u64(i) % 46);
        u64 at = i % 12;
        for (u32 d = 0; d < n; d++) {
            u64 r = hash_u64((u64)i << 8 | d), usual = d < n / 2 ? 9 : 7;
            u64 way = d + 3 >= n ? r % FUNCTIONS : r % 10 < usual ? 0 : 1 + r / 16 % 3;
            at = hash_u64(at * 64 + way + d);
            locations[d] = first + (u32)(at % FUNCTIONS);
        }
        stack(p, processes[i % 24], i % 50 ? XP_CAUSE_END : XP_CAUSE_NO_RULE, 1 + hash_u64(i * 31) % 40 / 37 * 20,
              locations, n);
    }
    return 0;
}

/* ---- hostile ----------------------------------------------------------------------------------------------------- */

int synth_hostile(struct profile *p)
{
    static const char *const names[] = {"</script><script>window.broken=1</script>",
                                        "<img src=x onerror=window.broken=1>",
                                        "quote\"back\\slash'`${1}",
                                        "new\nline;semi\tcolon",
                                        "bytes \xff\xfe\xc3(",
                                        "\xe2\x80\xa8 separator \xe2\x80\xae turned",
                                        "-->]]><!--",
                                        "__proto__",
                                        "constructor",
                                        "a|b.*(["};
    about(p, "</title><script>window.broken=1</script> \"x\" & 'y' @DATA@");
    u32 who = process(p, "<b>evil</b>;\"", 1), locations[16];
    static char longest[100001];
    memset(longest, 'L', 100000);
    u32 n = 0, map = mapping(p, "/opt/\"></script>/lib'.so");
    for (; n < sizeof(names) / sizeof(names[0]); n++)
        locations[n] = location(p, names[n], map, "a\"</script>.c", 3, FRAME_NATIVE);
    locations[n++] = location(p, longest, map, NULL, 0, FRAME_NATIVE);
    for (u32 i = 1; i <= n; i++)
        stack(p, who, XP_CAUSE_END, i, locations, i);
    return 0;
}

/* ---- inlines ----------------------------------------------------------------------------------------------------- */

/* A line more, outside of those that the location has. */
static void around(struct profile *p, u32 at, u32 inner)
{
    struct prof_location *outer = &p->locations.v[at];
    const struct prof_location *l = &p->locations.v[inner];
    struct prof_line first = p->lines.v[l->first_line], second = p->lines.v[outer->first_line];
    *VEC_PUSH(&p->lines) = first;
    *VEC_PUSH(&p->lines) = second;
    outer->first_line = (u32)p->lines.n - 2;
    outer->nlines = 2;
}

int synth_inlines(struct profile *p)
{
    about(p, "xprof record -- server");
    u32 who = process(p, "server", 77), map = mapping(p, "/usr/bin/server");
    u32 root = location(p, "main", map, "main.c", 3, FRAME_NATIVE);
    u32 helper = location(p, "helper", map, "helper.c", 12, FRAME_NATIVE);
    u32 serve = location(p, "serve", map, "serve.c", 20, FRAME_NATIVE);
    u32 both = location(p, "serve", map, "serve.c", 21, FRAME_NATIVE);
    p->lines.v[p->locations.v[both].first_line].function = p->lines.v[p->locations.v[serve].first_line].function;
    around(p, both, helper);
    stack(p, who, XP_CAUSE_END, 40, (u32[]){root, both}, 2);
    stack(p, who, XP_CAUSE_END, 25, (u32[]){root, serve, helper}, 3);
    stack(p, who, XP_CAUSE_END, 35, (u32[]){root, serve}, 2);
    return 0;
}

/* ---- scripts ---------------------------------------------------------------------------------------------------- */

static u32 script(struct profile *p, const char *name, u32 map)
{
    u32 at = location(p, name, map, "app.js", 7, FRAME_JIT);
    p->lines.v[p->locations.v[at].first_line].code = RUNTIME_INTERPRETED;
    return at;
}

int synth_scripts(struct profile *p)
{
    about(p, "xprof record -- node app.js");
    u32 who = process(p, "node", 78), map = mapping(p, "/usr/bin/node"), own = mapping(p, "[javascript]");
    u32 root = location(p, "main", map, "main.cc", 3, FRAME_NATIVE);
    u32 loop = location(p, "loop", map, "loop.cc", 12, FRAME_NATIVE);
    u32 builtin = location(p, "builtin", map, NULL, 0, FRAME_NATIVE);
    u32 gc = location(p, "gc", map, "gc.cc", 20, FRAME_NATIVE);
    u32 serve = script(p, "serve", own), render = script(p, "render", own);
    u32 sleep = location(p, "[sleep]", mapping(p, "[wait]"), NULL, 0, FRAME_WAIT);
    stack(p, who, XP_CAUSE_END, 1, (u32[]){root}, 1);
    stack(p, who, XP_CAUSE_END, 2, (u32[]){root, gc}, 2);
    stack(p, who, XP_CAUSE_END, 4, (u32[]){root, loop, serve}, 3);
    stack(p, who, XP_CAUSE_END, 8, (u32[]){root, loop, serve, builtin, render, gc}, 6);
    stack(p, who, XP_CAUSE_END, 16, (u32[]){root, loop, serve, builtin, sleep}, 5);
    stack(p, who, XP_CAUSE_END, 32, (u32[]){root, render}, 2);
    return 0;
}

/* ---- waits ------------------------------------------------------------------------------------------------------- */

/* A stack of two functions and up to two frames of the kernel; the last is the cause when there are any. */
static void wait(struct profile *p, u32 who, u8 cause, u64 count, u64 ns, const char *const *names)
{
    u32 locations[8], n = 0, user = cause == XP_CAUSE_NOT_TAKEN ? 0 : 2;
    bool cpu = !names[user];
    for (; names[n]; n++) {
        bool last = !names[n + 1] && !cpu;
        const char *map = n < user ? "/usr/sbin/store" : last ? "[wait]" : "[kernel.kallsyms]";
        locations[n] = location(p, names[n], mapping(p, map), NULL, 0,
                                n < user ? FRAME_NATIVE
                                : last   ? FRAME_WAIT
                                         : FRAME_KERNEL);
        if (last)
            p->locations.v[locations[n]].word_kind = XP_WORD_WAIT;
    }
    stack(p, who, cause, 0, locations, n);
    struct prof_stack *s = &p->stacks.v[p->stacks.n - 1];
    memset(s->count, 0, sizeof(s->count));
    memset(s->value, 0, sizeof(s->value));
    s->event = !cpu;
    s->count[0] = count;
    s->value[0] = ns;
}

int synth_waits(struct profile *p)
{
    static const struct event_kind off_cpu = {
        .name = "offcpu", .values = {{"off_cpu", "nanoseconds", NULL}}, .help = "time off a CPU"};
    const u64 ms = 1000000;
    about(p, "xprof record -e cpu,offcpu -- store");
    p->events[1] = &off_cpu;
    p->period[1] = 1;
    p->nevents = 2;
    u32 store = process(p, "store", 400);
    wait(p, store, XP_CAUSE_END, 100, 100 * PERIOD, (const char *[]){"main", "compact", NULL});
    wait(p, store, XP_CAUSE_END, 900, 2500 * ms, (const char *[]){"main", "pread", "folio_wait_bit", "[disk]", NULL});
    wait(p, store, XP_CAUSE_END, 1, 5000 * ms, (const char *[]){"main", "accept", "inet_csk_accept", "[socket]", NULL});
    wait(p, store, XP_CAUSE_END, 70, 250 * ms, (const char *[]){"main", "compact", "[run queue]", NULL});
    wait(p, store, XP_CAUSE_END, 0, 2000 * ms, (const char *[]){"main", "sleep", "hrtimer_nanosleep", "[sleep]", NULL});
    wait(p, store, XP_CAUSE_NOT_TAKEN, 9000, 250 * ms, (const char *[]){"futex_wait", "[lock]", NULL});
    return 0;
}
