// client.h: a client of FMUs for tests: exports a model by the command line, unpacks it, loads its functions.
// Include after cmocka.h.
#ifndef KD_TESTS_RUNTIME_CLIENT_H
#define KD_TESTS_RUNTIME_CLIENT_H

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fmi/fmi2.h"
#include "fmi/fmi3.h"

typedef struct client {
    int   version;
    char  folder[300];
    char  token[60];
    void *library;
#define X(answer, name, arguments) answer(*name) arguments;
    KD_FMI2_LIST(X)
    KD_FMI3_LIST(X)
#undef X
} client;

static inline int run_command(const char *command)
{
    const int answer = system(command); // NOLINT: of this test alone
    return answer;
}

// build/kardan export fmu, unzip; false: the export failed
static inline bool client_export(client *c, const char *model, int version, const char *options)
{
    char command[2000], line[200];
    *c = (client){.version = version};
    snprintf(c->folder, sizeof c->folder, "/tmp/kardan-client-XXXXXX");
    if (!mkdtemp(c->folder)) return false;
    snprintf(command, sizeof command,
             "%s/kardan export fmu %s --fmi %d --quiet --output %s/model.fmu %s && cd %s && unzip -q model.fmu",
             KD_BINARY_DIR, model, version, c->folder, options, c->folder);
    if (run_command(command) != 0) return false;
    snprintf(command, sizeof command, "%s/resources/plant.txt", c->folder);
    FILE *file = fopen(command, "r");
    if (!file || !fgets(line, sizeof line, file)) return false;
    fclose(file);
    return sscanf(line, "token %59s", c->token) == 1;
}

static inline bool client_load(client *c, const char *identifier)
{
    char path[600];
    snprintf(path, sizeof path, "%s/binaries/%s/%s.so", c->folder, c->version == 2 ? "linux64" : "x86_64-linux",
             identifier);
    c->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!c->library) {
        print_error("%s\n", dlerror());
        return false;
    }
    void *found;
    bool  all = true;
#define X(answer, name, arguments)                                                                                     \
    found = dlsym(c->library, #name);                                                                                  \
    memcpy(&c->name, &found, sizeof found);                                                                            \
    all = all && found;
    KD_FMI2_LIST(X)
    KD_FMI3_LIST(X)
#undef X
    return all;
}

static inline void client_close(client *c)
{
    char command[600];
    if (c->library) dlclose(c->library);
    snprintf(command, sizeof command, "rm -rf '%s'", c->folder);
    (void)run_command(command);
}

static inline void client_log2(fmi2ComponentEnvironment e, fmi2String instance, fmi2Status status, fmi2String category,
                               fmi2String message, ...)
{
    va_list arguments;
    (void)e, (void)instance, (void)category;
    if (status < fmi2Error) return;
    va_start(arguments, message);
    vfprintf(stderr, message, arguments);
    va_end(arguments);
    fputc('\n', stderr);
}

static inline void client_log3(fmi3InstanceEnvironment e, fmi3Status status, fmi3String category, fmi3String message)
{
    (void)e, (void)category;
    if (status >= fmi3Error) fprintf(stderr, "%s\n", message);
}

static inline fmi2Component client_instance2(client *c, fmi2Type type)
{
    static const fmi2CallbackFunctions functions = {
        .logger = client_log2, .allocateMemory = calloc, .freeMemory = free};
    char uri[400];
    snprintf(uri, sizeof uri, "file://%s/resources", c->folder);
    return c->fmi2Instantiate("test", type, c->token, uri, &functions, fmi2False, fmi2False);
}

static inline fmi3Instance client_instance3(client *c, bool exchange)
{
    char path[400];
    snprintf(path, sizeof path, "%s/resources/", c->folder);
    return exchange ? c->fmi3InstantiateModelExchange("test", c->token, path, false, false, NULL, client_log3)
                    : c->fmi3InstantiateCoSimulation("test", c->token, path, false, false, false, false, NULL, 0, NULL,
                                                     client_log3, NULL);
}

#endif
