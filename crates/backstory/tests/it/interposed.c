/* Stands between the binary and the system: a clock that is wrong, a disk that is slow. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t clock, struct timespec *time) {
    int result = (int)syscall(SYS_clock_gettime, clock, time);
    const char *shift = getenv("CLOCK_SHIFT");
    if (clock == CLOCK_REALTIME && shift) time->tv_sec += atol(shift);
    return result;
}

static void linger(void) {
    const char *ms = getenv("DISK_DELAY_MS");
    if (!ms) return;
    struct timespec delay = {0, atol(ms) * 1000000L};
    nanosleep(&delay, NULL);
}

ssize_t write(int file, const void *bytes, size_t length) {
    if (file > 2) linger();
    return syscall(SYS_write, file, bytes, length);
}
ssize_t pwrite64(int file, const void *bytes, size_t length, off_t at) {
    linger();
    return syscall(SYS_pwrite64, file, bytes, length, at);
}
ssize_t pread64(int file, void *bytes, size_t length, off_t at) {
    linger();
    return syscall(SYS_pread64, file, bytes, length, at);
}
int rename(const char *from, const char *to) {
    linger();
    return (int)syscall(SYS_renameat2, -100, from, -100, to, 0);
}
int fsync(int file) {
    linger();
    return (int)syscall(SYS_fsync, file);
}
int fdatasync(int file) {
    linger();
    return (int)syscall(SYS_fdatasync, file);
}
