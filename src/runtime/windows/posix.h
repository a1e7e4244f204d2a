// windows/posix.h: what the runtime takes from POSIX and MinGW does not have. Included before every file (gcc -include).
#ifndef KD_WINDOWS_POSIX_H
#define KD_WINDOWS_POSIX_H

#include <stdlib.h>

// Files are read byte by byte as they are; there are no pipes to wait for. Few headers: their functions have short names that files of
// kardan have, too
#define O_NONBLOCK 0x8000 // _O_BINARY
#define O_CLOEXEC 0x0080  // _O_NOINHERIT
#define S_ISSOCK(mode) 0

#define _SC_NPROCESSORS_ONLN 0
static inline long sysconf(int what)
{
    const char *n = getenv("NUMBER_OF_PROCESSORS");
    (void)what;
    return n ? atol(n) : 1;
}

static inline int setenv(const char *name, const char *value, int replace)
{
    return !replace && getenv(name) ? 0 : _putenv_s(name, value);
}

static inline int unsetenv(const char *name)
{
    return _putenv_s(name, "");
}

// names of files are UTF-8: windows/files.c
char *kd_windows_realpath(const char *path, char *room);
#define realpath kd_windows_realpath

// A locale is the name of one for numbers; it holds for the calling thread alone, and what was there before is told
typedef const char *locale_t;
#define LC_NUMERIC_MASK 0
static inline locale_t newlocale(int mask, const char *name, locale_t base)
{
    (void)mask, (void)base;
    return name;
}
locale_t kd_windows_uselocale(locale_t locale);
#define uselocale kd_windows_uselocale

#endif
