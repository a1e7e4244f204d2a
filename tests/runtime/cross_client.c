// cross_client.c: a small client of FMUs (3.0, co-simulation and model exchange) for machines that this one only emulates.
//   client LIBRARY TOKEN RESOURCES STEPS H REFERENCE...
// with a tolerance of 1e-10, so that steps of other lengths (rounding differs) do not count; prints the numbers behind the references after each step, then derivatives of the states at the start of model exchange.
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef _WIN32
#include <windows.h>
// Words of the command line come in the character set of the machine; clients speak UTF-8
static char **utf8_words(int *count)
{
    wchar_t **wide = CommandLineToArgvW(GetCommandLineW(), count);
    char    **word = calloc((size_t)*count + 1, sizeof *word);
    for (int i = 0; wide && word && i < *count; i++) {
        const int n = WideCharToMultiByte(CP_UTF8, 0, wide[i], -1, NULL, 0, NULL, NULL);
        word[i] = calloc((size_t)n + 1, 1);
        if (word[i]) (void)WideCharToMultiByte(CP_UTF8, 0, wide[i], -1, word[i], n, NULL, NULL);
    }
    return word;
}
static void *load(const char *path)
{
    return (void *)LoadLibraryA(path);
}
static void *symbol(void *library, const char *name)
{
    void   *found;
    FARPROC f = GetProcAddress((HMODULE)library, name);
    memcpy(&found, &f, sizeof found);
    return found;
}
#else
#include <dlfcn.h>
static void *load(const char *path)
{
    return dlopen(path, RTLD_NOW);
}
static void *symbol(void *library, const char *name)
{
    return dlsym(library, name);
}
#endif

enum { MOST = 2000 };

static void hear(void *environment, int status, const char *category, const char *message)
{
    (void)environment, (void)category;
    if (status >= 3) fprintf(stderr, "%s\n", message);
}

#define FIND(place) find(library, #place, &place, sizeof place)
static void find(void *library, const char *name, void *place, size_t size)
{
    void *found = symbol(library, name);
    if (!found) fprintf(stderr, "no %s\n", name), exit(2);
    memcpy(place, &found, size);
}

static void must(int status, const char *what)
{
    if (status > 1) fprintf(stderr, "%s answers %d\n", what, status), exit(3);
}

int main(int count, char **word)
{
    typedef void (*logger)(void *, int, const char *, const char *);
    void *(*fmi3InstantiateCoSimulation)(const char *, const char *, const char *, bool, bool, bool, bool,
                                         const uint32_t *, size_t, void *, logger, void *);
    void *(*fmi3InstantiateModelExchange)(const char *, const char *, const char *, bool, bool, void *, logger);
    int (*fmi3EnterInitializationMode)(void *, bool, double, double, bool, double),
        (*fmi3ExitInitializationMode)(void *);
    int (*fmi3DoStep)(void *, double, double, bool, bool *, bool *, bool *, double *);
    int (*fmi3GetFloat64)(void *, const uint32_t *, size_t, double *, size_t);
    int (*fmi3GetContinuousStateDerivatives)(void *, double *, size_t),
        (*fmi3GetNumberOfContinuousStates)(void *, size_t *);
    void (*fmi3FreeInstance)(void *);
    static double   value[MOST];
    static uint32_t reference[MOST];
    bool            event, stop, early;
    double          last;
#ifdef _WIN32
    word = utf8_words(&count);
#endif
    if (count < 6) return 2;
    void *library = load(word[1]);
    if (!library) return fprintf(stderr, "%s cannot be loaded\n", word[1]), 2;
    FIND(fmi3InstantiateCoSimulation), FIND(fmi3InstantiateModelExchange), FIND(fmi3EnterInitializationMode);
    FIND(fmi3ExitInitializationMode), FIND(fmi3DoStep), FIND(fmi3GetFloat64), FIND(fmi3GetContinuousStateDerivatives);
    FIND(fmi3GetNumberOfContinuousStates), FIND(fmi3FreeInstance);
    const int    steps = atoi(word[4]);
    const double h = atof(word[5]);
    size_t       n = 0;
    for (int i = 6; i < count && n < MOST; i++) reference[n++] = (uint32_t)atol(word[i]);

    void *c =
        fmi3InstantiateCoSimulation("cross", word[2], word[3], false, false, false, false, NULL, 0, NULL, hear, NULL);
    if (!c) return 3;
    must(fmi3EnterInitializationMode(c, true, 1e-10, 0, false, 0), "EnterInitializationMode");
    must(fmi3ExitInitializationMode(c), "ExitInitializationMode");
    for (int k = 0; k < steps; k++) {
        must(fmi3DoStep(c, k * h, h, true, &event, &stop, &early, &last), "DoStep");
        must(fmi3GetFloat64(c, reference, n, value, n), "GetFloat64");
        for (size_t i = 0; i < n; i++) printf("%.17g ", value[i]);
        printf("\n");
    }
    fmi3FreeInstance(c);

    c = fmi3InstantiateModelExchange("cross", word[2], word[3], false, false, NULL, hear);
    if (!c) return 3;
    must(fmi3EnterInitializationMode(c, true, 1e-10, 0, false, 0), "EnterInitializationMode");
    must(fmi3ExitInitializationMode(c), "ExitInitializationMode");
    must(fmi3GetNumberOfContinuousStates(c, &n), "GetNumberOfContinuousStates");
    if (n > MOST) return 2;
    must(fmi3GetContinuousStateDerivatives(c, value, n), "GetContinuousStateDerivatives");
    for (size_t i = 0; i < n; i++) printf("%.17g ", value[i]);
    printf("\n");
    fmi3FreeInstance(c);
    return 0;
}
