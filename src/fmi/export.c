// export.c: a model becomes an FMU: its flat file with what it refers to, the description, the one binary for all models.
//
// Everything is put together in a folder of its own first, from where the model is read again as the FMU will read it: what
// does not survive that is refused here and not by somebody else's tool.
#define _XOPEN_SOURCE 700
#define _DEFAULT_SOURCE
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <kardan/fmi.h>
#include <kardan/query.h>
#include <kardan/results.h>

#include "core/load.h"
#include "core/memory.h"
#include "core/text.h"
#include "fmi/description.h"
#include "fmi/zip.h"

#ifndef KD_FMU_FOLDER
#define KD_FMU_FOLDER ""
#endif

static const unsigned COOKIE = 0x666d7531;
#define MOST_BYTES ((size_t)1 << 28)

#if defined(__aarch64__)
static const char PLATFORM_2[] = "aarch64-linux", PLATFORM_3[] = "aarch64-linux";
#else
static const char PLATFORM_2[] = "linux64", PLATFORM_3[] = "x86_64-linux";
#endif

typedef struct job {
    const kd_model              *model;
    const char                  *model_path;
    const kd_fmu_export_options *opt;
    char                         folder[PATH_MAX]; // of the resources
    char                         identifier[200], token[48];
    kd_plant                    *plant;
    kd_zip_writer               *zip;
    uint64_t                     hash[2];
    char                        *message;
    size_t                       size;
} job;

kd_fmu_export_options kd_fmu_export_options_default(void)
{
    return (kd_fmu_export_options){.version = 3, .kind = KD_FMU_BOTH, .cookie = COOKIE};
}

static kd_status refuse_export(job *j, kd_status status, const char *what, const char *why)
{
    kd_text(j->message, j->size, "%s%s%s", what, *what ? ": " : "", why);
    return status;
}

// ---- files ----------------------------------------------------------------------------------------------------------

static kd_status write_file(job *j, const char *name, const char *text, size_t length)
{
    char path[PATH_MAX + 1100];
    snprintf(path, sizeof path, "%s/%s", j->folder, name);
    // its folders
    for (char *slash = strchr(path + strlen(j->folder) + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        const bool made = mkdir(path, 0700) == 0 || errno == EEXIST;
        *slash = '/';
        if (!made) return refuse_export(j, KD_ERR_FILE, path, strerror(errno));
    }
    FILE *file = fopen(path, "wb");
    bool  good = file && fwrite(text, 1, length, file) == length;
    if (file && fclose(file) != 0) good = false;
    return good ? KD_OK : refuse_export(j, KD_ERR_FILE, path, strerror(errno));
}

// A file that the model names, at the same place beside the model of the FMU. path: where it is; NULL: as it is named
static kd_status copy_file(job *j, const char *named, const char *path)
{
    char        from[PATH_MAX], why[400];
    char       *text;
    size_t      length;
    const char *slash = strrchr(j->model_path, '/');
    if (!named) return KD_OK;
    if (named[0] == '/' || strstr(named, "..") || strlen(named) > 1000)
        return refuse_export(j, KD_ERR_MODEL, named,
                             "an FMU can only carry files that the model names inside of its own folder");
    snprintf(from, sizeof from, "%.*s%s", slash && !path ? (int)(slash - j->model_path) + 1 : 0, j->model_path,
             path ? path : named);
    kd_status status = kd_load_file(from, MOST_BYTES, &text, &length, why, sizeof why);
    if (status < 0) return refuse_export(j, status, named, why);
    status = write_file(j, named, text, length);
    kd_free(text);
    return status;
}

// Blocks of foreign code stay outside: the runtime loads nothing
static kd_status refuse_foreign(job *j)
{
    for (int i = 0; i < kd_model_count(j->model, KD_SECTION_BLOCK); i++) {
        const kd_block_kind kind = kd_model_block_def(j->model, i)->kind;
        if (kind == KD_BLOCK_FMU || kind == KD_BLOCK_LIBRARY)
            return refuse_export(j, KD_ERR_UNSUPPORTED, kd_model_name(j->model, KD_SECTION_BLOCK, i),
                                 "this block is foreign code, which an FMU cannot carry");
    }
    return KD_OK;
}

static kd_status copy_data(job *j)
{
    kd_status status = refuse_foreign(j);
    for (int i = 0; i < kd_model_count(j->model, KD_SECTION_BODY) && status >= 0; i++) {
        const kd_body_def *def = kd_model_body_def(j->model, i);
        status = copy_file(j, def->flexible, NULL);
        for (int k = 0; k < def->nshapes && status >= 0; k++) status = copy_file(j, def->shape[k].mesh, NULL);
    }
    for (int i = 0; i < kd_model_count(j->model, KD_SECTION_FORCE) && status >= 0; i++) {
        const kd_force_def *def = kd_model_force_def(j->model, i);
        if (def->kind == KD_MAGIC_TYRE) status = copy_file(j, def->magic.tir, def->magic.path);
        if (status >= 0 && def->kind == KD_MAGIC_TYRE) status = copy_file(j, def->magic.road.crg, def->magic.road.path);
        if (status >= 0 && def->kind == KD_TMEASY_TYRE)
            status = copy_file(j, def->tmeasy.road.crg, def->tmeasy.road.path);
    }
    return status;
}

// ---- names ----------------------------------------------------------------------------------------------------------

static void choose_identifier(job *j)
{
    const char *slash = strrchr(j->model_path, '/'), *from = j->opt->identifier;
    if (!from) from = slash ? slash + 1 : j->model_path;
    size_t n = 0;
    for (; *from && !(!j->opt->identifier && *from == '.') && n + 2 < sizeof j->identifier; from++) {
        const bool letter = (*from >= 'a' && *from <= 'z') || (*from >= 'A' && *from <= 'Z') || *from == '_';
        const bool digit = *from >= '0' && *from <= '9';
        if (digit && n == 0) j->identifier[n++] = '_';
        j->identifier[n++] = letter || digit ? *from : '_';
    }
    if (n == 0) j->identifier[n++] = '_';
    j->identifier[n] = '\0';
}

static void add_hash(job *j, const void *bytes, size_t size)
{
    const unsigned char *b = bytes;
    for (size_t i = 0; i < size; i++) {
        j->hash[0] = (j->hash[0] ^ b[i]) * 1099511628211u;
        j->hash[1] = (j->hash[1] + b[i]) * 6364136223846793005u + 1442695040888963407u;
    }
}

// The same for the same model, version and kind
static void choose_token(job *j)
{
    const unsigned long long a = j->hash[0], b = j->hash[1];
    snprintf(j->token, sizeof j->token, "{%08llx-%04llx-%04llx-%04llx-%012llx}", a >> 32, a >> 16 & 0xffff, a & 0xffff,
             b >> 48, b & 0xffffffffffffull);
}

// ---- resources ------------------------------------------------------------------------------------------------------

static kd_status write_plant(job *j)
{
    char  *text = NULL;
    size_t size = 0;
    FILE  *out = open_memstream(&text, &size);
    if (!out) return KD_ERR_MEMORY;
    fprintf(out, "token %s\n", j->token);
    if (j->opt->kind & KD_FMU_EXCHANGE) fprintf(out, "kind me\n");
    if (j->opt->kind & KD_FMU_COSIMULATION) fprintf(out, "kind cs\n");
    for (int i = 0; i < j->opt->ninputs; i++) fprintf(out, "input %s\n", j->opt->inputs[i]);
    if (fclose(out) != 0) return KD_ERR_MEMORY;
    const kd_status status = write_file(j, "plant.txt", text, size);
    free(text);
    return status;
}

static kd_status check_inputs(job *j)
{
    for (int i = 0; i < j->opt->ninputs; i++)
        if (kd_model_find(j->model, KD_SECTION_INPUT, j->opt->inputs[i]) < 0)
            return refuse_export(j, KD_ERR_ARGUMENT, j->opt->inputs[i], "the model has no input of this name");
    const kd_run_def  *run = kd_model_run(j->model);
    kd_integrator_kind kind;
    if (run->integrator && kd_integrator_parse(run->integrator, &kind) &&
        (strcmp(run->integrator, "ida") == 0 || strcmp(run->integrator, "cvode") == 0 ||
         strcmp(run->integrator, "arkode") == 0))
        return refuse_export(
            j, KD_ERR_UNSUPPORTED, run->integrator,
            "integrators of SUNDIALS are not part of an FMU; choose one of kardan's in the model's run:");
    return KD_OK;
}

static kd_status prepare_folder(job *j)
{
    const char *temporary = getenv("TMPDIR");
    char        path[PATH_MAX + 20];
    snprintf(j->folder, sizeof j->folder, "%s/kardan-fmu-XXXXXX", temporary && *temporary ? temporary : "/tmp");
    if (!mkdtemp(j->folder)) {
        j->folder[0] = '\0';
        return refuse_export(j, KD_ERR_FILE, "no folder for the parts of the FMU", strerror(errno));
    }
    // the model as one file, with all that it reads beside it
    snprintf(path, sizeof path, "%s/model.yaml", j->folder);
    kd_status status = kd_model_write_flat(j->model, path, j->message, j->size);
    if (status >= 0) status = copy_data(j);
    if (status < 0) return status;
    char  *text;
    size_t length;
    status = kd_load_file(path, MOST_BYTES, &text, &length, j->message, j->size);
    if (status < 0) return status;
    // the token is a hash of all that makes the FMU, so that the same model gives the same one
    add_hash(j, text, length);
    add_hash(j, &j->opt->version, sizeof j->opt->version);
    add_hash(j, &j->opt->kind, sizeof j->opt->kind);
    for (int i = 0; i < j->opt->ninputs; i++) add_hash(j, j->opt->inputs[i], strlen(j->opt->inputs[i]));
    kd_free(text);
    choose_token(j);
    status = write_plant(j);
    if (status < 0) return status;
    // read again as the FMU will read it
    char why[2000];
    status = kd_plant_open(j->folder, &j->plant, why, sizeof why);
    return status < 0 ? refuse_export(j, status, "the model of the FMU cannot be read again", why) : KD_OK;
}

// ---- the archive ----------------------------------------------------------------------------------------------------

// Every file below a folder, by its place in there; the folder itself at last. *good: all went well so far
typedef void (*visitor)(job *j, const char *path, const char *name, bool folder, bool *good);
static void visit(job *j, const char *path, const char *name, visitor see, bool *good)
{
    DIR *list = opendir(path);
    *good = *good && list;
    // each entry by its path on disk and its name below the folder
    for (struct dirent *e = list ? readdir(list) : NULL; e; e = readdir(list)) {
        char        inner[PATH_MAX + 300], inner_name[PATH_MAX + 300];
        struct stat about;
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0) continue;
        kd_text(inner, sizeof inner, "%s/%s", path, e->d_name);
        kd_text(inner_name, sizeof inner_name, "%s%s%s", name, *name ? "/" : "", e->d_name);
        if (lstat(inner, &about) != 0) continue;
        // links are not followed: lstat tells a folder only where it is one
        if (S_ISDIR(about.st_mode))
            visit(j, inner, inner_name, see, good);
        else
            see(j, inner, inner_name, false, good);
    }
    if (list) closedir(list);
    see(j, path, name, true, good);
}

static void add_visited(job *j, const char *path, const char *name, bool folder, bool *good)
{
    char   full[PATH_MAX + 400], why[300];
    char  *text;
    size_t length;
    if (folder || !*good) return;
    kd_text(full, sizeof full, "resources/%s", name);
    *good = kd_load_file(path, MOST_BYTES, &text, &length, why, sizeof why) >= 0;
    if (!*good) return;
    *good = kd_zip_add(j->zip, full, text, length, false) >= 0;
    kd_free(text);
}

static void remove_visited(job *j, const char *path, const char *name, bool folder, bool *good)
{
    (void)j, (void)name;
    *good = (folder ? rmdir(path) : unlink(path)) == 0 && *good;
}

static kd_status add_resources(job *j)
{
    bool good = true;
    visit(j, j->folder, "", add_visited, &good);
    return good ? KD_OK : refuse_export(j, KD_ERR_FILE, j->folder, "cannot be read again");
}

// Beside the program, where it is installed, or as the environment says
static bool find_part(const char *name, const char *variable, char *path, size_t size)
{
    char          own[PATH_MAX] = "";
    const ssize_t n = readlink("/proc/self/exe", own, sizeof own - 1);
    char         *slash = n > 0 ? strrchr(own, '/') : NULL;
    if (slash) *slash = '\0';
    // from the most special place to the most general one
    const char *set = getenv(variable);
    char        place[4][PATH_MAX + 60] = {{0}};
    if (set) kd_text(place[0], sizeof place[0], "%s", set);
    if (slash) kd_text(place[1], sizeof place[1], "%s/%s", own, name);
    if (slash) kd_text(place[2], sizeof place[2], "%s/../lib/kardan/%s", own, name);
    if (*KD_FMU_FOLDER) kd_text(place[3], sizeof place[3], "%s/%s", KD_FMU_FOLDER, name);
    for (int i = 0; i < 4; i++)
        if (place[i][0] && access(place[i], R_OK) == 0) {
            kd_text(path, size, "%s", place[i]);
            return true;
        }
    return false;
}

static kd_status find_binary(job *j, char *path, size_t size)
{
    if (j->opt->binary) {
        kd_text(path, size, "%s", j->opt->binary);
        return access(path, R_OK) == 0 ? KD_OK : refuse_export(j, KD_ERR_FILE, path, strerror(errno));
    }
    if (find_part("libkardan-fmu.so", "KARDAN_FMU_BINARY", path, size)) return KD_OK;
    return refuse_export(j, KD_ERR_UNAVAILABLE, "libkardan-fmu.so",
                         "the binary of FMUs is not beside the program, nor where it was installed (option --binary)");
}

static kd_status add_binary(job *j, const char *path, const char *platform, const char *ending)
{
    char      name[600], why[300];
    char     *bytes;
    size_t    length;
    kd_status status = kd_load_file(path, MOST_BYTES, &bytes, &length, why, sizeof why);
    if (status < 0) return status;
    kd_text(name, sizeof name, "binaries/%s/%s.%s", platform, j->identifier, ending);
    status = kd_zip_add(j->zip, name, bytes, length, true);
    kd_free(bytes);
    return status;
}

// That of this machine, and those of others that stand beside it (tools/cross-fmu)
static kd_status add_binaries(job *j)
{
    static const struct {
        const char *file, *two, *three, *ending;
    } OTHER[] = {{"kardan-fmu.aarch64-linux.so", "aarch64-linux", "aarch64-linux", "so"},
                 {"kardan-fmu.x86_64-windows.dll", "win64", "x86_64-windows", "dll"}};
    char       path[PATH_MAX + 40];
    const bool two = j->opt->version == 2;
    kd_status  status = find_binary(j, path, sizeof path);
    if (status >= 0) status = add_binary(j, path, two ? PLATFORM_2 : PLATFORM_3, "so");
    for (size_t i = 0; i < sizeof OTHER / sizeof *OTHER && status >= 0; i++)
        if (strcmp(OTHER[i].three, PLATFORM_3) != 0 && find_part(OTHER[i].file, "", path, sizeof path))
            status = add_binary(j, path, two ? OTHER[i].two : OTHER[i].three, OTHER[i].ending);
    return status;
}

static kd_status add_description(job *j)
{
    int                   nparameters;
    const int             first = kd_plant_first(j->plant, KD_PLANT_PARAMETER, &nparameters);
    const kd_run_def     *run = kd_model_run(j->model);
    kd_simulation_options options;
    bool                 *tunable = kd_alloc((size_t)nparameters + 1);
    if (!tunable) return KD_ERR_MEMORY;
    // what the run section gives: times and tolerance of the default experiment
    kd_status status = kd_system_run_options(kd_plant_system(j->plant), &options, j->message, j->size);
    for (int i = 0; i < nparameters; i++) tunable[i] = kd_plant_is_tunable(j->plant, (unsigned)(first + i));
    // all that the description says beside the variables of the plant
    const kd_description_def def = {.version = j->opt->version,
                                    .kind = j->opt->kind,
                                    .identifier = j->identifier,
                                    .token = j->token,
                                    .title = kd_model_title(j->model),
                                    .t_end = run->t_end,
                                    .step = run->t_end / (run->intervals > 0 ? run->intervals : 500),
                                    .tolerance = options.rtol,
                                    .tunable = tunable};
    char                    *text = status >= 0 ? kd_description_write(j->plant, &def) : NULL;
    if (status >= 0)
        status = text ? kd_zip_add(j->zip, "modelDescription.xml", text, strlen(text), false) : KD_ERR_MEMORY;
    kd_free(text);
    kd_free(tunable);
    return status;
}

static kd_status add_terminals(job *j)
{
    char     *text;
    kd_status status = j->opt->version == 3 ? kd_terminals_write(j->plant, &text) : KD_OK;
    if (status < 0 || j->opt->version != 3 || !text) return status;
    status = kd_zip_add(j->zip, "terminalsAndIcons/terminalsAndIcons.xml", text, strlen(text), false);
    kd_free(text);
    return status;
}

// ---- sources --------------------------------------------------------------------------------------------------------

// One file of the list, "place in the tree, place in the FMU"
static kd_status add_source(job *j, const char *root, const char *from, const char *to)
{
    char   path[PATH_MAX + 400], name[400], why[300];
    char  *text;
    size_t length;
    kd_text(path, sizeof path, "%s/%s", root, from);
    kd_text(name, sizeof name, "sources/%s", to);
    kd_status status = kd_load_file(path, MOST_BYTES, &text, &length, why, sizeof why);
    if (status < 0) return refuse_export(j, status, path, why);
    status = kd_zip_add(j->zip, name, text, length, true);
    kd_free(text);
    return status;
}

// All of them, and into `build` what is to be compiled; `list` is cut in place
static kd_status add_listed(job *j, const char *place, char *list, FILE *build)
{
    char        root[PATH_MAX + 100], *rest = list, *line = strsep(&rest, "\n");
    const char *slash = strrchr(place, '/');
    kd_status   status = KD_OK;
    // the first line tells where sources are, from the list's own folder if it is not absolute
    if (line[0] == '/')
        kd_text(root, sizeof root, "%s", line);
    else
        kd_text(root, sizeof root, "%.*s/%s", slash ? (int)(slash - place) : 1, slash ? place : ".", line);
    // "place in the tree, place in the FMU"; headers are carried, but not compiled
    while (status >= 0 && (line = strsep(&rest, "\n"))) {
        char *to = strchr(line, ' ');
        if (!to) continue;
        *to++ = '\0';
        status = add_source(j, root, line, to);
        const size_t n = strlen(to);
        if (n > 2 && strcmp(to + n - 2, ".c") == 0) fprintf(build, "      <SourceFile name=\"%s\"/>\n", to);
    }
    return status;
}

// sources/, with a description of how they are built (FMI 3.0); LibYAML is a library of the system
static kd_status add_sources(job *j)
{
    char   place[PATH_MAX + 60], why[300];
    char  *list, *text = NULL;
    size_t length, size = 0;
    // only where they are asked for and can be told
    if (!j->opt->sources) return KD_OK;
    if (j->opt->version != 3)
        return refuse_export(j, KD_ERR_ARGUMENT, "sources", "only FMI 3.0 can say how they are built");
    if (!find_part("fmu-sources.txt", "KARDAN_FMU_SOURCES", place, sizeof place))
        return refuse_export(j, KD_ERR_UNAVAILABLE, "fmu-sources.txt",
                             "the list of sources is not beside the program, nor where it was installed");
    // the list was written when the library was built
    kd_status status = kd_load_file(place, MOST_BYTES, &list, &length, why, sizeof why);
    if (status < 0) return refuse_export(j, status, place, why);
    FILE *build = open_memstream(&text, &size);
    // the build description grows beside the files that it names
    if (build) {
        fprintf(build,
                "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<fmiBuildDescription fmiVersion=\"3.0\">\n"
                "  <BuildConfiguration modelIdentifier=\"%s\">\n"
                "    <SourceFileSet language=\"C17\" compiler=\"gcc\" compilerOptions=\"-O2 -ffp-contract=off\">\n",
                j->identifier);
        status = add_listed(j, place, list, build);
        fputs("      <PreprocessorDefinition name=\"KD_RUNTIME\" value=\"1\"/>\n"
              "      <IncludeDirectory name=\".\"/>\n    </SourceFileSet>\n"
              "    <Library name=\"yaml\" external=\"true\" description=\"LibYAML\"/>\n"
              "    <Library name=\"m\" external=\"true\"/>\n"
              "  </BuildConfiguration>\n</fmiBuildDescription>\n",
              build);
    }
    if (!build || fclose(build) != 0) status = KD_ERR_MEMORY;
    if (status >= 0) status = kd_zip_add(j->zip, "sources/buildDescription.xml", text, size, true);
    free(text);
    kd_free(list);
    return status;
}

static const char LICENCES[] =
    "This FMU contains the runtime of kardan (BSD 3-Clause License) and LibYAML:\n\n"
    "LibYAML, MIT License\n"
    "Copyright (c) 2017-2020 Ingy doet Net\n"
    "Copyright (c) 2006-2016 Kirill Simonov\n\n"
    "Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated\n"
    "documentation files (the \"Software\"), to deal in the Software without restriction, including without limitation "
    "the\n"
    "rights to use, copy, modify, merge, publish, distribute, sublicense, and/or sell copies of the Software, and to "
    "permit\n"
    "persons to whom the Software is furnished to do so, subject to the following conditions:\n\n"
    "The above copyright notice and this permission notice shall be included in all copies or substantial portions of "
    "the\n"
    "Software.\n\n"
    "THE SOFTWARE IS PROVIDED \"AS IS\", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED "
    "TO THE\n"
    "WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE "
    "AUTHORS OR\n"
    "COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR\n"
    "OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE "
    "SOFTWARE.\n";

kd_status kd_fmu_export(const kd_model *model, const char *model_path, const char *path,
                        const kd_fmu_export_options *opt, char *message, size_t size)
{
    const kd_fmu_export_options defaults = kd_fmu_export_options_default();
    job j = {.model = model, .model_path = model_path, .opt = opt ? opt : &defaults, .message = message, .size = size};
    kd_text(message, size, "%s", "");
    if (!model || !model_path || !path || j.opt->cookie != COOKIE) return KD_ERR_ARGUMENT;
    if ((j.opt->version != 2 && j.opt->version != 3) || (int)j.opt->kind < 1 || (int)j.opt->kind > KD_FMU_BOTH)
        return refuse_export(&j, KD_ERR_ARGUMENT, "",
                             "versions of FMI are 2 and 3, kinds model exchange, co-simulation or both");
    j.hash[0] = 14695981039346656037u;
    j.hash[1] = 88172645463325252u;
    choose_identifier(&j);
    kd_status status = check_inputs(&j);
    if (status >= 0) status = kd_zip_create(&j.zip);
    if (status == KD_ERR_UNAVAILABLE) refuse_export(&j, status, "", "FMUs were not built in: zlib was missing");
    if (status >= 0) status = prepare_folder(&j);
    // the description first: tools look for it there
    if (status >= 0) status = add_description(&j);
    if (status >= 0) status = add_terminals(&j);
    if (status >= 0) status = add_binaries(&j);
    if (status >= 0) status = add_resources(&j);
    if (status >= 0) status = add_sources(&j);
    if (status >= 0)
        status = kd_zip_add(j.zip, "documentation/licenses/license.txt", LICENCES, strlen(LICENCES), false);
    if (status >= 0) status = kd_zip_write(j.zip, path, message, size);
    kd_zip_destroy(j.zip);
    kd_plant_close(j.plant);
    bool removed = true;
    if (j.folder[0]) visit(&j, j.folder, "", remove_visited, &removed);
    return status;
}
