// FMUs of others: written after the shared descriptions they give the shared results; hostile ones give messages.
#define _POSIX_C_SOURCE 200809L
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdbool.h>
#include <time.h>
#include <unistd.h>

#define OUT KD_BINARY_DIR "/test-guest"
#define BEFORE "cd '" OUT "' && "
#include "cli/run.h"
#include "fmi/make_fmu.h"

// The next line of numbers of a table; false: there is none
static bool read_row(FILE *file, double *x, int n)
{
    char line[5000], *at = line;
    if (!fgets(line, sizeof line, file)) return false;
    for (int i = 0; i < n; i++) {
        x[i] = strtod(at, &at);
        if (*at == ',') at++;
    }
    return true;
}

static FILE *open_table(const char *path)
{
    char  head[3000];
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_non_null(fgets(head, sizeof head, file));
    return file;
}

// Largest difference of two tables
static double difference(const char *a, const char *b, int columns)
{
    double x[20] = {0}, y[20] = {0}, most = 0;
    FILE  *fa = open_table(a), *fb = open_table(b);
    for (;;) {
        const bool more = read_row(fa, x, columns);
        assert_int_equal(more, read_row(fb, y, columns));
        if (!more) break;
        for (int i = 0; i < columns; i++) most = fmax(most, fabs(x[i] - y[i]));
    }
    fclose(fa);
    fclose(fb);
    return most;
}

// Co-simulation gives the shared results to the last digits, in both versions, and no rule is broken
static void shared_results_of_cosimulation(void **state)
{
    static const struct {
        const char *name, *fixture, *options;
        int         columns;
    } model[] = {{"BouncingBall", "ball", "", 3},
                 {"Dahlquist", "dahlquist", "--step 0.1", 2},
                 {"Resource", "resource", "--step 1", 2}};
    char path[400], command[1000];
    (void)state;
    if (!has_shared()) skip();
    for (size_t i = 0; i < sizeof model / sizeof *model; i++)
        for (int version = 2; version <= 3; version++) {
            snprintf(path, sizeof path, SHARED "/models/%s/FMI%d.xml", model[i].name, version);
            make_fmu(model[i].name, path, model[i].fixture, version, "model.fmu");
            expect("fmu check model.fmu", 0, "nothing is wrong");
            expect("fmu info model.fmu", 0, model[i].name);
            snprintf(command, sizeof command, "fmu simulate model.fmu --kind cs --output out.csv %s", model[i].options);
            expect(command, 0, "");
            snprintf(path, sizeof path, SHARED "/models/%s/%s_out.csv", model[i].name, model[i].name);
            const double d = difference(OUT "/out.csv", path, model[i].columns);
            if (d > 1e-15) fail_msg("%s, FMI %d: %g", model[i].name, version, d);
        }
    // its resources may lie in a folder with spaces, percent signs and umlauts: FMI 2.0 wants a URI
    const char *before = getenv("TMPDIR");
    assert_int_equal(run_command("rm -rf '" OUT "/a b%41ä' && mkdir -p '" OUT "/a b%41ä'").status, 0);
    setenv("TMPDIR", OUT "/a b%41ä", 1);
    for (int version = 2; version <= 3; version++) {
        snprintf(path, sizeof path, SHARED "/models/Resource/FMI%d.xml", version);
        make_fmu("Resource", path, "resource", version, "model.fmu");
        expect("fmu simulate model.fmu --kind cs --output out.csv --step 1", 0, "");
        assert_true(difference(OUT "/out.csv", SHARED "/models/Resource/Resource_out.csv", 2) == 0);
    }
    if (before)
        setenv("TMPDIR", before, 1);
    else
        unsetenv("TMPDIR");
}

// All types: default values, and the limits of all integers, which double does not hold
static void shared_results_of_feedthrough(void **state)
{
    (void)state;
    if (!has_shared()) skip();
    make_fmu("Feedthrough", SHARED "/models/Feedthrough/FMI3.xml", "feedthrough", 3, "three.fmu");
    make_fmu("Feedthrough", SHARED "/models/Feedthrough/FMI2.xml", "feedthrough", 2, "two.fmu");
    expect("fmu check three.fmu", 0, "nothing is wrong");
    expect("fmu check two.fmu", 0, "nothing is wrong");
    command_result r =
        expect("fmu simulate three.fmu --step 0.1", 0, "0.1,0,0,0,0,0,0,0,0,0,0,0,0,0,Set me!,666f6f,1\n");
    must_contain(r.text, "Binary_output");
    r = expect("fmu simulate three.fmu --step 0.1 --input '" SHARED "/models/Feedthrough/Feedthrough_in.csv'", 0,
               "\n1,0,0,0,0,-128,0,-32768,0,-2147483648,0,-9223372036854775808,0,");
    must_contain(r.text,
                 "\n2,0,0,0,0,127,255,32767,65535,2147483647,4294967295,9223372036854775807,18446744073709551615,");
    expect("fmu simulate two.fmu --step 0.1 --input '" SHARED "/models/Feedthrough/Feedthrough_in.csv'", 1,
           "'Int8_input' is no input of the FMU");
    expect("fmu simulate three.fmu --step 1 --set Float64_continuous_input=2.5 --set String_input=hello --set "
           "Binary_input=00ff",
           0, "hello,00ff");
    expect("fmu simulate three.fmu --set Int8_input=128", 1, "Int8_input: 128 is no value of type Int8");
    expect("fmu simulate three.fmu --set nothing=1", 1, "there is no such variable");
}

// Model exchange: the bounces of the ball to 1e-9 s of the closed form, Dahlquist to the tolerance, in both versions
static void shared_results_of_exchange(void **state)
{
    (void)state;
    if (!has_shared()) skip();
    for (int version = 2; version <= 3; version++) {
        char   path[400];
        double before[3] = {-1, 0, 0}, row[3] = {0}, bounces[20], worst = 0;
        int    count = 0;
        snprintf(path, sizeof path, SHARED "/models/BouncingBall/FMI%d.xml", version);
        make_fmu("BouncingBall", path, "ball", version, "ball.fmu");
        expect("fmu simulate ball.fmu --kind me --tolerance 1e-11 --output ball.csv", 0, "");
        // two rows of one time are an event
        FILE *file = open_table(OUT "/ball.csv");
        while (read_row(file, row, 3)) {
            if (row[0] == before[0] && count < 20) bounces[count++] = row[0];
            memcpy(before, row, sizeof row);
        }
        fclose(file);
        assert_int_equal(count, 11);
        double t = sqrt(2 / 9.81), flight = 2 * t;
        for (int i = 0; i < count; i++) {
            worst = fmax(worst, fabs(bounces[i] - t));
            flight *= 0.7;
            t += flight;
        }
        if (worst > 1e-9) fail_msg("FMI %d: bounces are off by %g", version, worst);
        assert_true(fabs(bounces[10] - 2.4991133142246205) < 1e-9);
        snprintf(path, sizeof path, SHARED "/models/Dahlquist/FMI%d.xml", version);
        make_fmu("Dahlquist", path, "dahlquist", version, "dahlquist.fmu");
        expect("fmu simulate dahlquist.fmu --kind me --tolerance 1e-10 --step 10 --output d.csv", 0, "");
        file = open_table(OUT "/d.csv");
        while (read_row(file, row, 2)) {
        }
        fclose(file);
        assert_true(fabs(row[1] - exp(-10)) < 1e-9);
    }
}

// ---- hostile FMUs ---------------------------------------------------------------------------------------------------

// A crash, an end of its process, a hang, an error and a NaN are messages
static void misbehaviour_is_told(void **state)
{
    (void)state;
    if (access("/usr/bin/zip", X_OK) != 0) return;
    make_hostile("GOOD");
    expect("fmu check GOOD.fmu", 0, "nothing is wrong");
    expect("fmu simulate GOOD.fmu --stop 0.2 --step 0.1 --in-process", 0, "0.2,");
    make_hostile("CRASH");
    expect("fmu check CRASH.fmu", 1, "the FMU crashed in the start of initialisation (Aborted)");
    expect("fmu simulate CRASH.fmu", 1, "the FMU crashed in the start of initialisation");
    make_hostile("EXIT");
    expect("fmu simulate EXIT.fmu", 1, "the FMU ended its process in the start of initialisation (status 3)");
    make_hostile("HANG");
    expect("fmu simulate HANG.fmu --timeout 0.3", 1,
           "the FMU did not come back from a step within 0.3 s and was ended");
    make_hostile("ERROR");
    expect("fmu simulate ERROR.fmu --kind cs", 1, "DoStep answered \"error\"");
    make_hostile("NAN");
    expect("fmu simulate NAN.fmu --kind me", 1, "derivative 1 is no finite number");
    make_hostile("LOSES");
    expect("fmu simulate LOSES.fmu --kind cs --stop 1 --step 0.1", 1, "is no finite number from t = 0.4 s on");
}

// Memory has a limit, and processes that it starts end with it: the pipe of this command would stay open
static void what_it_takes_is_bounded(void **state)
{
    (void)state;
    if (access("/usr/bin/zip", X_OK) != 0) return;
    make_hostile("BREEDS");
    const time_t start = time(NULL);
    expect("fmu simulate BREEDS.fmu --stop 0.2 --step 0.1", 0, "0.2,");
    assert_true(time(NULL) - start < 60);
#if !defined __SANITIZE_ADDRESS__ && !defined __SANITIZE_THREAD__
    make_hostile("EATS");
    expect("fmu simulate EATS.fmu --memory 300M", 1, "the FMU crashed in the start of initialisation (Aborted)");
#endif
}

// Broken rules are told with the line of the description
static void broken_rules_are_told(void **state)
{
#define ONE(attributes) "<ModelVariables><Float64 name=\"a\" " attributes "/></ModelVariables><ModelStructure/>"
    static const struct {
        const char *body, *message;
    } wrong[] = {
        {"", "there are no ModelVariables"},
        {ONE("valueReference=\"1\" causality=\"input\""), "a: it needs a start value"},
        {"<ModelVariables><Int8 name=\"a\" valueReference=\"1\" "
         "variability=\"continuous\"/></ModelVariables><ModelStructure/>",
         "a: a variable of type Int8 cannot be continuous"},
        {"<ModelVariables><Float64 name=\"a\" valueReference=\"1\"/><Float64 name=\"a\" "
         "valueReference=\"1\"/></ModelVariables><ModelStructure/>",
         "there are two variables of this name"},
        {ONE("valueReference=\"1\" causality=\"output\""), "a is an output, but not listed among them"},
        {ONE("valueReference=\"1\" unit=\"m\""), "a: its unit m is not defined"},
        {ONE("valueReference=\"1\" derivative=\"9\""), "a: it is the derivative of a variable that is not there"},
        {ONE("valueReference=\"1\" derivative=\"1\""), "a: it is its own derivative"},
        {ONE("valueReference=\"x\""), "a: its valueReference is missing or no number"},
        {ONE("valueReference=\"1\" causality=\"parameter\" variability=\"fixed\" start=\"3\" max=\"2\""),
         "a: its start is outside of min and max"},
        {ONE("valueReference=\"1\" causality=\"parameter\" variability=\"continuous\" start=\"3\""),
         "a: a variable that is parameter cannot be continuous"},
        {"<ModelVariables><Float64 name=\"a\" valueReference=\"1\"/></ModelVariables><ModelStructure><Output "
         "valueReference=\"77\"/></ModelStructure>",
         "Output lists 77, which is no variable"},
        {"<ModelVariables>", "modelDescription.xml:"},
    };
    (void)state;
    if (access("/usr/bin/zip", X_OK) != 0) return;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        write_description("GOOD", wrong[i].body);
        make_fmu("h", OUT "/description.xml", "hostile", 3, "wrong.fmu");
        expect("fmu check wrong.fmu", 1, wrong[i].message);
    }
}

// Archives that lie or lead out are refused, and nothing is written outside
static void hostile_archives_are_refused(void **state)
{
    static const char SCRIPT[] =
        "import zipfile, struct\n"
        "d = open('description.xml').read()\n"
        "def make(name, entries):\n"
        "    with zipfile.ZipFile(name, 'w', zipfile.ZIP_DEFLATED) as z:\n"
        "        z.writestr('modelDescription.xml', d)\n"
        "        for n, b in entries: z.writestr(n, b)\n"
        "make('up.fmu', [('resources/../../evil.txt', 'x')])\n"
        "make('root.fmu', [('/tmp/kardan-evil.txt', 'x')])\n"
        "make('bomb.fmu', [('resources/%d' % i, b'\\0' * (1 << 27)) for i in range(9)])\n"
        "link = zipfile.ZipInfo('resources/link'); link.create_system = 3; link.external_attr = 0o120777 << 16\n"
        "make('link.fmu', [(link, '/etc/passwd')])\n"
        "make('none.fmu', [])\n"
        "b = bytearray(open('none.fmu', 'rb').read()); at = b.rfind(b'PK\\5\\6')\n"
        "struct.pack_into('<HH', b, at + 8, 500, 500); open('count.fmu', 'wb').write(b)\n"
        "b = bytearray(open('none.fmu', 'rb').read()); b[60] ^= 255; open('damaged.fmu', 'wb').write(b)\n"
        "open('cut.fmu', 'wb').write(open('none.fmu', 'rb').read()[:-30])\n"
        "open('empty.fmu', 'wb').write(b'')\n"
        "zipfile.ZipFile('naked.fmu', 'w').writestr('a.txt', 'x')\n";
    (void)state;
    if (access("/usr/bin/python3", X_OK) != 0) return;
    write_description("GOOD", GOOD_BODY);
    FILE *file = fopen(OUT "/make.py", "w");
    assert_non_null(file);
    fputs(SCRIPT, file);
    fclose(file);
    assert_int_equal(run_command("cd '" OUT "' && /usr/bin/python3 make.py").status, 0);
    expect("fmu check up.fmu", 1, "the name has '..'; it would lead out of the folder");
    expect("fmu check root.fmu", 1, "the name begins at the root");
    expect("fmu check bomb.fmu", 1, "the files would take more than 1 GB");
    expect("fmu check link.fmu", 1, "it is a link or a device, not a file");
    expect("fmu check count.fmu", 1, "the list of entries is not where the archive says, or shorter than their number");
    expect("fmu check damaged.fmu", 1, "damaged");
    expect("fmu check cut.fmu", 1, "this is not a ZIP archive");
    expect("fmu check empty.fmu", 1, "this is not a ZIP archive");
    expect("fmu check naked.fmu", 1, "there is no modelDescription.xml in it");
    expect("fmu check none.fmu", 1, "there are neither binaries nor sources");
    expect("fmu check nowhere.fmu", 1, "nowhere.fmu");
    assert_int_not_equal(
        run_command("test -e '" OUT "/evil.txt' || test -e '" OUT "/../evil.txt' || test -e /tmp/kardan-evil.txt")
            .status,
        0);
}

// Models of kardan are FMUs as good as any: checked, run, the same motion in both kinds
static void own_models_come_back(void **state)
{
    (void)state;
    for (int version = 2; version <= 3; version++) {
        char command[400];
        snprintf(command, sizeof command, "export fmu " MODELS "slider-crank.yaml --fmi %d --output own.fmu --quiet",
                 version);
        expect(command, 0, "");
        expect("fmu check own.fmu", 0, "nothing is wrong");
        expect("fmu simulate own.fmu --kind cs --stop 0.1 --step 0.01 --tolerance 1e-9 --output cs.csv", 0, "");
        expect("fmu simulate own.fmu --kind me --stop 0.1 --step 0.01 --tolerance 1e-9 --output me.csv", 0, "");
        const double d = difference(OUT "/cs.csv", OUT "/me.csv", 3);
        if (d > 1e-6) fail_msg("FMI %d: %g", version, d);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shared_results_of_cosimulation), cmocka_unit_test(shared_results_of_feedthrough),
        cmocka_unit_test(shared_results_of_exchange),     cmocka_unit_test(misbehaviour_is_told),
        cmocka_unit_test(what_it_takes_is_bounded),       cmocka_unit_test(broken_rules_are_told),
        cmocka_unit_test(hostile_archives_are_refused),   cmocka_unit_test(own_models_come_back),
    };
    return cmocka_run_group_tests(tests, start_afresh, NULL);
}
