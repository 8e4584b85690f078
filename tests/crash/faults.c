/* Calls of the system that go wrong: loaded before the C library (LD_PRELOAD), it counts the calls that concern the
   files below one folder, and lets one of them fail, or ends the process before it, after it, or half way. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

enum { WRITE, SYNC, TRUNCATE, UNLINK, N_CALLS };
enum { FAIL, KILL, KILLED, TORN, SHORT };

static char folder[4096];
static size_t n_folder;
static long counts[N_CALLS];
static int bad_call = -1, bad_kind, bad_errno;
static long bad_number;

void plan_fault(const char *path, int call, long number, int kind, int code)
{
    snprintf(folder, sizeof folder, "%s", path);
    n_folder = strlen(folder);
    memset(counts, 0, sizeof counts);
    bad_call = call, bad_number = number, bad_kind = kind, bad_errno = code;
}

long count_calls(int call) { return counts[call]; }

static void end(void) { kill(getpid(), SIGKILL); }

static int is_below(const char *path) { return n_folder && !strncmp(path, folder, n_folder); }

static int concerns(int fd)
{
    char name[64], path[4096];
    ssize_t n;
    if (!n_folder) return 0;
    snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    n = readlink(name, path, sizeof path - 1);
    if (n < 0) return 0;
    path[n] = 0;
    return is_below(path);
}

/* Count a call; return whether it is to fail now. */
static int goes_wrong(int call)
{
    long number = counts[call]++;
    if (call != bad_call || number < bad_number || (number > bad_number && bad_kind != SHORT)) return 0;
    if (bad_kind == KILL) end();
    return 1;
}

#define REAL(name) static __typeof__(name) *real; if (!real) real = (__typeof__(name) *)dlsym(RTLD_NEXT, #name)

#define WRITING(n, part, whole) \
    if (!concerns(fd) || !goes_wrong(WRITE)) return whole; \
    if (bad_kind == KILLED) { whole; end(); } \
    if (bad_kind == TORN) { part; end(); } \
    if (bad_kind == SHORT && counts[WRITE] == bad_number + 1 && (n) > 1) return part; \
    errno = bad_errno; \
    return -1

ssize_t write(int fd, const void *data, size_t n)
{
    REAL(write);
    WRITING(n, real(fd, data, n / 2), real(fd, data, n));
}

ssize_t pwrite(int fd, const void *data, size_t n, off_t at)
{
    REAL(pwrite);
    WRITING(n, real(fd, data, n / 2, at), real(fd, data, n, at));
}

ssize_t pwrite64(int fd, const void *data, size_t n, off64_t at)
{
    REAL(pwrite64);
    WRITING(n, real(fd, data, n / 2, at), real(fd, data, n, at));
}

#define OTHER(call, condition, whole) \
    if (!(condition) || !goes_wrong(call)) return whole; \
    if (bad_kind == KILLED || bad_kind == TORN) { whole; end(); } \
    errno = bad_errno; \
    return -1

int fsync(int fd) { REAL(fsync); OTHER(SYNC, concerns(fd), real(fd)); }
int fdatasync(int fd) { REAL(fdatasync); OTHER(SYNC, concerns(fd), real(fd)); }
int ftruncate(int fd, off_t n) { REAL(ftruncate); OTHER(TRUNCATE, concerns(fd), real(fd, n)); }
int ftruncate64(int fd, off64_t n) { REAL(ftruncate64); OTHER(TRUNCATE, concerns(fd), real(fd, n)); }
int unlink(const char *path) { REAL(unlink); OTHER(UNLINK, is_below(path), real(path)); }
