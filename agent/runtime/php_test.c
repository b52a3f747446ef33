#include "runtime/php_ask_test.h"
#include <errno.h>

TEST(php_says_where_its_frames_are)
{
    for (unsigned i = 0; i < CRAFTED_VERSIONS; i++) {
        CRAFT(i, false);
        struct php p = php_of(&a);
        const struct xp_php *x = &p.machine.php;
        CHECK_STR(p.version, c->v->version);
        CHECK(!p.threads && !p.debug);
        CHECK(p.machine.language == XP_LANGUAGE_PHP && p.machine.found == XP_ROOT_AT && p.machine.root == c->state);
        CHECK(x->frame == c->v->frame && x->call_opline == 0 && x->call_func == 24 && x->call_info == 40);
        CHECK(x->call_prev == 48 && x->call_result == 16 && x->op_line == 24 && x->op_bytes == 32);
        CHECK(x->function_type == 0 && x->function_words == 8 && x->function_file == c->v->file);
        CHECK(x->function_ops == c->v->opcodes && x->function_nops == c->v->last);
        CHECK(x->generator_call == c->v->generator && x->generator_child == c->v->child);
        CHECK_EQ(x->generator_children, c->v->generator ? c->v->generator + 104u : 0);
        CHECK_EQ(c->state + x->loop, c->loop + 64);
    }
}

TEST(php_is_told_to_the_unwinder)
{
    CRAFT(CRAFTED_8_2, false);
    struct xp_machine m;
    struct php p = php_of(&a);
    CHECK(runtime_machine(a.data, a.len, &m));
    CHECK_EQ(m.kind, XP_MACHINE_SCRIPT);
    CHECK(m.script.root == p.machine.root && m.script.php.frame == p.machine.php.frame);
}

TEST(php_with_threads_says_where_they_have_their_state)
{
    for (unsigned i = 0; i < CRAFTED_VERSIONS; i++) {
        CRAFT(i, true);
        struct php p = php_of(&a);
        CHECK(p.threads && p.machine.found == XP_ROOT_THREAD);
        CHECK_EQ(p.machine.tls, 0x518);
        CHECK_EQ(p.machine.slot, 16 * 3 + 8 + 1);
        CHECK_EQ(p.machine.php.frame, CRAFTED_MOVE + c->v->frame);
    }
    CRAFT(CRAFTED_8_2, true);
    crafted_getter(c, true);
    crafted_put(c, c->key, 3, 4);
    a.len = 0;
    CHECK_EQ(attach(c, &a), 0);
    CHECK(php_of(&a).machine.tls == 0x310 + 16 * 3 + 8 && !php_of(&a).machine.slot);
    crafted_put(c, c->key, 1024, 4);
    CHECK_EQ(attach_alone(c), -ENOTSUP);
    crafted_put(c, c->key, 3, 4);
    c->bytes[c->getter + 8]++; /* another instruction */
    CHECK_EQ(attach_alone(c), -ENOTSUP);
    c->bytes[c->getter + 8]--;
    c->bytes[c->getter + 14] = 0x90;
    CHECK_EQ(attach_alone(c), -ENOTSUP);
}

TEST(php_with_threads_may_lack_what_tells_them)
{
    static const char *const names[] = {"tsrm_get_ls_cache", "gnu_get_libc_version"};
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        CRAFT(CRAFTED_8_3, true);
        crafted_rename(c, names[i]);
        CHECK_EQ(attach_alone(c), -ENOTSUP);
    }
    CRAFT(CRAFTED_8_3, true);
    crafted_put(c, c->move, 0xc001, 8); /* farther than anything has */
    CHECK_EQ(attach_alone(c), -ENOTSUP);
    crafted_put(c, c->move, 0, 8);
    CHECK_EQ(attach_alone(c), -EAGAIN);
}

TEST(others_are_no_php)
{
    static const char *const names[] = {"zend_execute_ex", "module_registry", "executor_globals"};
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        CRAFT(CRAFTED_8_4, false);
        crafted_rename(c, names[i]);
        CHECK_EQ(attach_alone(c), -ENODATA);
    }
}

TEST(php_may_still_start)
{
    CRAFT(CRAFTED_8_2, false);
    crafted_put(c, c->state + c->v->functions, 0, 8);
    CHECK_EQ(attach_alone(c), -EAGAIN);
    crafted_put(c, c->state + c->v->functions, c->table, 8);
    crafted_put(c, c->registry + 24, 2, 4); /* not all modules are there */
    CHECK_EQ(attach_alone(c), -EAGAIN);
    crafted_put(c, c->registry + 24, 0, 4);
    CHECK_EQ(attach_alone(c), -EAGAIN);
    crafted_put(c, c->registry + 24, 3, 4);
    crafted_put(c, c->state + c->v->frame, 0, 8); /* it waits for requests */
    CHECK_EQ(attach_alone(c), 0);
}

TEST(php_of_other_versions_is_not_understood)
{
    static const u32 apis[] = {20180731, 20220828, 20220830, 20261231};
    CRAFT(CRAFTED_8_2, false);
    for (size_t i = 0; i < sizeof(apis) / sizeof(*apis); i++) {
        crafted_put(c, c->core + 4, apis[i], 4);
        CHECK_EQ(attach_alone(c), -ENOTSUP);
    }
    crafted_make(c, CRAFTED_8_2, false);
    CHECK_EQ(attach_alone(c), 0);
    crafted_put(c, crafted_get(c, c->registry + 16), c->standard, 8); /* its interface is the same */
    CHECK_EQ(attach_alone(c), -ENOTSUP);
}

TEST(php_that_is_not_what_it_should_be_is_not_understood)
{
    CRAFT(CRAFTED_8_2, false);
    const struct crafted good = *c;
    const struct {
        u64 at, value;
    } lies[] = {{c->state + c->v->functions, 1ull << 60},
                {c->table + 16, 1ull << 40},
                {c->table + 16, 0},
                {c->native, 2},
                {c->native + 16, c->class},
                {c->native + 8, 0},
                {c->native + 8, c->core},
                {c->native + c->v->module, c->state}};
    for (size_t i = 0; i < sizeof(lies) / sizeof(*lies); i++) {
        *c = good;
        crafted_put(c, lies[i].at, lies[i].value, lies[i].at == c->native ? 1 : 8);
        CHECK_EQ(attach_alone(c), -ENOTSUP);
    }
}

/* What runs is looked at as long as it is not sound anywhere: frames change while they are read. */
TEST(php_whose_frames_are_all_wrong_is_not_understood)
{
    CRAFT(CRAFTED_8_4, false);
    u32 frames[] = {c->frame, c->frame + CRAFTED_FRAME, c->frame + 2 * CRAFTED_FRAME};
    crafted_put(c, frames[1] + 24, c->state, 8);
    crafted_put(c, frames[2], c->state, 8);
    CHECK_EQ(attach_alone(c), 0);
    crafted_put(c, frames[0] + 24, c->state, 8);
    CHECK_EQ(attach_alone(c), -ENOTSUP);
    crafted_put(c, frames[2], 0, 8);
    CHECK_EQ(attach_alone(c), 0);
    crafted_put(c, c->main + c->v->last, 1u << 24, 4);
    CHECK_EQ(attach_alone(c), -ENOTSUP);
    crafted_put(c, c->main + c->v->last, 1, 4);
    CHECK_EQ(attach_alone(c), 0);
    crafted_put(c, c->main + c->v->file, c->state, 8);
    CHECK_EQ(attach_alone(c), -ENOTSUP);
    crafted_put(c, frames[0] + 24, 0, 8); /* frames without function say nothing, and lists may have no end */
    crafted_put(c, frames[0] + 48, c->frame, 8);
    CHECK_EQ(attach_alone(c), 0);
}

TEST(php_may_have_no_loop_in_its_state)
{
    CRAFT(CRAFTED_8_2, false);
    static const u64 others[] = {0, 0x100000};
    for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
        crafted_put(c, c->state + 640, others[i], 8);
        a.len = 0;
        CHECK_EQ(attach(c, &a), 0);
        CHECK_EQ(php_of(&a).machine.php.loop, 0);
    }
    crafted_put(c, c->state + 640, c->loop, 8); /* where it begins, it has no frame yet */
    a.len = 0;
    CHECK_EQ(attach(c, &a), 0);
    CHECK_EQ(php_of(&a).machine.php.loop, 0);
}

TEST(php_versions_are_texts)
{
    CRAFT(CRAFTED_8_2, false);
    static const struct {
        const char *has, *says;
    } cases[] = {{"8.2.9-1ubuntu2.14+deb.sury.org~22.04", "8.2.9-1ubuntu2.14+deb.sury.or"},
                 {"8.2 x", ""},
                 {"8.2\x80", ""},
                 {"", ""}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        strcpy((char *)c->bytes + crafted_get(c, c->standard + 88), cases[i].has);
        a.len = 0;
        CHECK_EQ(attach(c, &a), 0);
        CHECK_STR(php_of(&a).version, cases[i].says);
    }
    crafted_put(c, c->standard + 88, 1ull << 50, 8);
    CHECK_EQ(attach_alone(c), 0);
}

TEST(php_says_what_it_is)
{
    CRAFT(CRAFTED_8_2, false);
    CHECK_STR(crafted_about(c), "machine\tPHP 8.2.36\nbuild\twithout threads\nmodules\t3\n");
    crafted_make(c, CRAFTED_8_3, true);
    crafted_put(c, c->core + 8, 1, 1);
    CHECK_STR(crafted_about(c), "machine\tPHP 8.3.6\nbuild\twith threads, for debugging\nmodules\t3\n");
    crafted_put(c, c->standard + 88, 0, 8);
    CHECK_STR(crafted_about(c), "machine\tPHP of an unknown version\nbuild\twith threads, for debugging\nmodules\t3\n");
}

/* ---- Hostile input */

#define REFUSES(change) CHECK_REFUSED(php_check, sound, change)

TEST(php_replies_are_checked)
{
    CRAFT(CRAFTED_8_2, false);
    struct php sound = php_of(&a);
    CHECK_EQ(php_check(&sound, sizeof(sound)), 0);
    CHECK_EQ(php_check(&sound, sizeof(sound) - 1), -EBADMSG);
    REFUSES(machine.language = XP_LANGUAGE_RUBY);
    REFUSES(machine.found = XP_ROOT_POINTER);
    REFUSES(machine.root = 1ull << 56);
    REFUSES(machine.tls = -8);
    REFUSES(machine.tls = 8193);
    REFUSES(machine.slot = 8193);
    REFUSES(machine.pad = 1);
    REFUSES(machine.php.frame = 51201);
    REFUSES(machine.php.call_opline = 513);
    REFUSES(machine.php.call_func = 513);
    REFUSES(machine.php.call_info = 513);
    REFUSES(machine.php.call_prev = 513);
    REFUSES(machine.php.call_result = 513);
    REFUSES(machine.php.op_line = 513);
    REFUSES(machine.php.op_bytes = 15);
    REFUSES(machine.php.op_bytes = 65);
    REFUSES(machine.php.function_type = 513);
    REFUSES(machine.php.function_words = 513);
    REFUSES(machine.php.function_file = 513);
    REFUSES(machine.php.function_ops = 513);
    REFUSES(machine.php.function_nops = 513);
    REFUSES(machine.php.generator_call = 513);
    REFUSES(machine.php.generator_children = 513);
    REFUSES(machine.php.generator_child = 513);
    REFUSES(version[0] = ' ');
    REFUSES(threads = 2);
    REFUSES(debug = 2);
}

static void make_any(struct crafted *c, unsigned i)
{
    crafted_make(c, i % CRAFTED_VERSIONS, i % 5 == 0);
}

static void ask(const struct crafted *c, const struct crafted *bad, u64 any, struct crafted_words *out)
{
    const u32 functions[] = {c->main, c->method, c->native};
    for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); i++)
        crafted_ask(out, XP_SCRIPT_WORD(XP_LANGUAGE_PHP, crafted_address(bad, functions[i])),
                    XP_MORE_WORD(crafted_cookie(bad, functions[i]), 7));
    crafted_ask(out, XP_SCRIPT_WORD(XP_LANGUAGE_PHP, c->method), XP_MORE_WORD(crafted_cookie(c, c->method), 7));
    crafted_ask(out, XP_SCRIPT_WORD(XP_LANGUAGE_PHP, any), any);
}

TEST(php_survives_any_change)
{
    crafted_do_no_harm(&(struct crafted_harm){make_any, ask});
}
