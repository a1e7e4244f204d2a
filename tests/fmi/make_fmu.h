// make_fmu.h: FMUs for tests in the folder OUT: of the shared descriptions, and hostile ones. Include after cli/run.h.
#ifndef KD_TESTS_FMI_MAKE_FMU_H
#define KD_TESTS_FMI_MAKE_FMU_H

#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#define SHARED KD_SOURCE_DIR "/../shared/fmi"

static inline bool has_shared(void)
{
    if (access(SHARED "/models/BouncingBall/FMI3.xml", R_OK) == 0 && access("/usr/bin/zip", X_OK) == 0) return true;
    print_message("skipped: there is no ../shared/fmi, or no zip\n");
    return false;
}

// An FMU in OUT from a description and the binary of a fixture
static inline void make_fmu(const char *name, const char *description, const char *fixture, int version, const char *to)
{
    const char *platform = version == 2 ? "linux64" : "x86_64-linux";
    char        command[2500];
    snprintf(command, sizeof command,
             "cd '" OUT "' && rm -rf w && mkdir -p w/binaries/%s w/resources && cp '%s' w/modelDescription.xml && "
             "cp '" KD_BINARY_DIR "/tests/libfixture_%s.so' w/binaries/%s/%s.so && "
             "(cp '" SHARED
             "/models/Resource/y.txt' w/resources/ 2>/dev/null || true) && cd w && rm -f ../%s && zip -q -r ../%s .",
             platform, description, fixture, platform, name, to, to);
    const command_result r = run_command(command);
    if (r.status != 0) print_error("%s\n", r.text);
    assert_int_equal(r.status, 0);
}

static inline void write_description(const char *token, const char *body)
{
    FILE *file = fopen(OUT "/description.xml", "w");
    assert_non_null(file);
    fprintf(
        file,
        "<?xml version=\"1.0\"?>\n<fmiModelDescription fmiVersion=\"3.0\" modelName=\"h\" instantiationToken=\"%s\">\n"
        "<ModelExchange modelIdentifier=\"h\"/>\n<CoSimulation modelIdentifier=\"h\"/>\n%s</fmiModelDescription>\n",
        token, body);
    fclose(file);
}

static const char GOOD_BODY[] =
    "<ModelVariables><Float64 name=\"time\" valueReference=\"0\" causality=\"independent\"/>\n"
    "<Float64 name=\"x\" valueReference=\"1\" causality=\"output\" initial=\"exact\" start=\"1\"/>\n"
    "<Float64 name=\"der(x)\" valueReference=\"2\" derivative=\"1\"/></ModelVariables>\n"
    "<ModelStructure><Output valueReference=\"1\"/><ContinuousStateDerivative valueReference=\"2\"/>"
    "<InitialUnknown valueReference=\"2\"/></ModelStructure>\n";

static inline void make_hostile(const char *token)
{
    char name[40];
    snprintf(name, sizeof name, "%s.fmu", token);
    write_description(token, GOOD_BODY);
    make_fmu("h", OUT "/description.xml", "hostile", 3, name);
}

#endif
