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

int _access(const char *path, int mode);

// The absolute path with slashes, in memory of malloc; NULL: there is no such file
static inline char *realpath(const char *path, char *room)
{
    char *full = _access(path, 0) == 0 ? _fullpath(room, path, 4096) : NULL;
    for (char *c = full; c && *c; c++)
        if (*c == '\\') *c = '/';
    return full;
}

// Threads have the locale of the program; the runtime does not change it
typedef int locale_t;
#define LC_NUMERIC_MASK 0
static inline locale_t newlocale(int mask, const char *name, locale_t base)
{
    (void)mask, (void)name;
    return base;
}
static inline locale_t uselocale(locale_t locale)
{
    return locale;
}

#endif
