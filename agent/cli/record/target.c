#include "base/cleanup.h"
#include "cli/record/program.h"
#include "cli/record/target.h"
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

/* The descendants of the processes that were asked for are on the list, too; only those asked for must exist. */
static int resolve_pids(struct target *t, const struct record_options *o, char *why, size_t len)
{
    for (size_t i = 0; i < o->pids.n; i++) {
        u32 tgid;
        if (proc_tgid((u32)o->pids.v[i], &tgid)) {
            snprintf(why, len, "there is no process %llu", (unsigned long long)o->pids.v[i]);
            return -ESRCH;
        }
        u32 *p = VEC_PUSH(&t->pids);
        if (!p)
            return -ENOMEM;
        *p = tgid;
    }
    return proc_add_descendants(&t->pids);
}

static int resolve_cgroup(const char *path, struct probe_config *config, char *why, size_t len)
{
    char controller[32];
    int rc = proc_cgroup(path, &config->cgroup, controller);
    if (rc == -ENOTSUP)
        snprintf(why, len, "--cgroup %s: this hierarchy has no controller; use the path of the group in another one",
                 path);
    else if (rc == -EINVAL)
        snprintf(why, len, "--cgroup %s: not a directory of a cgroup file system", path);
    else if (rc)
        snprintf(why, len, "--cgroup %s: %s", path, strerror(-rc));
    else if (controller[0] && (config->cgroup_subsys = probe_cgroup_subsys(controller)) < 0)
        snprintf(why, len, "--cgroup %s: this kernel does not know the controller %s", path, controller), rc = -ENOENT;
    return rc;
}

/* Under sudo, the user's own command runs as the user. */
static int become_invoking_user(void)
{
    const char *uid = getenv("SUDO_UID"), *gid = getenv("SUDO_GID");
    if (geteuid() || !uid || !gid)
        return 0;
    uid_t user = (uid_t)strtoul(uid, NULL, 10);
    gid_t group = (gid_t)strtoul(gid, NULL, 10);
    const struct passwd *pw = getpwuid(user);
    if (pw) {
        setenv("HOME", pw->pw_dir, 1);
        setenv("USER", pw->pw_name, 1);
        setenv("LOGNAME", pw->pw_name, 1);
    }
    if (pw ? initgroups(pw->pw_name, group) : setgroups(0, NULL))
        return -errno;
    return setgid(group) || setuid(user) ? -errno : 0;
}

/* In the child: becomes the command when recording has begun. From then on it is stopped whenever it maps code, until
 * the recorder has seen that, and the recorder waits for the command: so nothing may be loaded in between. */
static void run_command(char **command, pid_t recorder, int go, int error_pipe)
{
    char byte;
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGPIPE, SIG_DFL);
    int err = -become_invoking_user();
    ssize_t n;
    while ((n = read(go, &byte, 1)) < 0 && errno == EINTR)
        ;
    if (n != 1) /* the recorder gave up, or is gone: a closed pipe is no start signal */
        _exit(125);
    prctl(PR_SET_PDEATHSIG, SIGTERM); /* after setuid, which clears it */
    if (!err && getppid() == recorder) {
        execvp(command[0], command);
        err = errno;
    }
    if (write(error_pipe, &err, sizeof(err)) < 0)
        _exit(126);
    _exit(127);
}

static int fork_command(struct target *t, char **command)
{
    int go[2], error[2];
    if (pipe2(go, O_CLOEXEC))
        return -errno;
    if (pipe2(error, O_CLOEXEC)) {
        close(go[0]);
        close(go[1]);
        return -errno;
    }
    pid_t recorder = getpid();
    void *program = program_map(command[0]);
    t->command = fork();
    if (!t->command) {
        close(go[1]);
        run_command(command, recorder, go[0], error[1]);
    }
    program_unmap(program);
    close(go[0]);
    close(error[1]);
    t->go = go[1];
    t->exec_error = error[0];
    if (t->command < 0)
        return t->command = 0, -EAGAIN;
    u32 *p = VEC_PUSH(&t->pids);
    if (!p)
        return -ENOMEM;
    *p = (u32)t->command;
    return 0;
}

int record_target_resolve(struct target *t, const struct record_options *o, struct probe_config *config, char *why,
                          size_t len)
{
    int rc = 0;
    *t = (struct target){.go = -1, .exec_error = -1};
    config->cgroup_subsys = -1;
    config->target = o->all ? XP_TARGET_ALL : o->cgroup ? XP_TARGET_CGROUP : XP_TARGET_PIDS;
    snprintf(why, len, "cannot resolve the target");
    if (o->cgroup)
        rc = resolve_cgroup(o->cgroup, config, why, len);
    else if (o->command) {
        rc = fork_command(t, o->command);
        if (rc)
            snprintf(why, len, "cannot start %s: %s", o->command[0], strerror(-rc));
    } else if (!o->all)
        rc = resolve_pids(t, o, why, len);
    config->pids = t->pids.v;
    config->npids = t->pids.n;
    return rc;
}

int record_target_release(struct target *t)
{
    int err = 0;
    if (!t->command)
        return 0;
    if (write(t->go, "", 1) != 1)
        return -errno;
    close(TAKE_FD(t->go));
    ssize_t n = read(t->exec_error, &err, sizeof(err)); /* end of file once it runs */
    return n == sizeof(err) ? -err : 0;
}

bool record_target_gone(const struct target *t)
{
    for (size_t i = 0; i < t->pids.n; i++)
        if (proc_alive(t->pids.v[i]))
            return false;
    return t->pids.n > 0;
}

void record_target_free(struct target *t)
{
    if (t->command) /* never released, or still running: nobody is left to wait for it */
        kill(t->command, SIGTERM);
    xp_cleanup_close(&t->go);
    xp_cleanup_close(&t->exec_error);
    if (t->command)
        waitpid(t->command, NULL, 0);
    vec_free(&t->pids);
}
