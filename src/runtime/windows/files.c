// windows/files.c: what MinGW does otherwise than POSIX: names of files, locales of threads. Names of files are UTF-8 on both sides of the runtime; Windows wants them in 16-bit characters. tools/cross-fmu links with
// --wrap=open: what calls open comes here.
#include <errno.h>
#include <fcntl.h>
#include <io.h>
#include <locale.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <wchar.h>

enum { UTF8 = 65001, CHARACTERS = 4096 };

// of kernel32; its own header has too many short names
__declspec(dllimport) int __stdcall MultiByteToWideChar(unsigned, unsigned long, const char *, int, wchar_t *, int);
__declspec(dllimport) int __stdcall WideCharToMultiByte(unsigned, unsigned long, const wchar_t *, int, char *, int,
                                                        const char *, int *);

int __wrap_open(const char *path, int flags, ...);

// 0: it is too long, or no UTF-8
static int widen(const char *path, wchar_t *wide)
{
    const unsigned long whole = 8; // MB_ERR_INVALID_CHARS
    return MultiByteToWideChar(UTF8, whole, path, -1, wide, CHARACTERS);
}

// Files are only read
int __wrap_open(const char *path, int flags, ...)
{
    wchar_t        wide[CHARACTERS];
    struct _stat64 found;
    if (widen(path, wide) == 0) return errno = ENOENT, -1;
    // a folder can be opened on no Windows, and it says "permission denied": tell what it is
    if (_wstat64(wide, &found) == 0 && (found.st_mode & _S_IFMT) == _S_IFDIR) return errno = EISDIR, -1;
    return _wopen(wide, flags);
}

// The absolute path with slashes; NULL: there is no such file
char *kd_windows_realpath(const char *path, char *room)
{
    wchar_t wide[CHARACTERS], full[CHARACTERS];
    char    narrow[CHARACTERS];
    if (widen(path, wide) == 0 || _waccess(wide, 0) != 0 || !_wfullpath(full, wide, CHARACTERS)) return NULL;
    if (WideCharToMultiByte(UTF8, 0, full, -1, narrow, CHARACTERS, NULL, NULL) == 0) return NULL;
    // one kind of separators, none at the end but behind a drive
    for (char *c = narrow; *c; c++)
        if (*c == '\\') *c = '/';
    for (size_t n = strlen(narrow); n > 3 && narrow[n - 1] == '/'; n--) narrow[n - 1] = '\0';
    return room ? strcpy(room, narrow) : _strdup(narrow);
}

// In the locale "C", which nearly all programs have, nothing is changed
locale_t kd_windows_uselocale(locale_t locale)
{
    static _Thread_local char before[100];
    const char               *now = setlocale(LC_NUMERIC, NULL);
    if (!locale || !now || strcmp(now, locale) == 0) return locale;
    snprintf(before, sizeof before, "%s", now);
    (void)_configthreadlocale(_ENABLE_PER_THREAD_LOCALE);
    (void)setlocale(LC_NUMERIC, locale);
    return before;
}
