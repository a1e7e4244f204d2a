// Stress as a user comes to it: hot spots of a run, sensors, rainflow counts; a part of bricks in millimetres from the deck to its stress by
// CalculiX, where that is installed.
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define OUT KD_BINARY_DIR "/test-cli-stress"
#define BEFORE "cd '" OUT "' && "
#include "cli/run.h"
#include "cli/table.h"

static FILE *open_text(const char *name)
{
    char path[600];
    snprintf(path, sizeof path, OUT "/%s", name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    return file;
}

static void write_text(const char *name, const char *text)
{
    FILE *file = open_text(name);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

// The specimen that turns: simulate tells the hot spots, in words, as JSON and in the report; loads has all places; its cycles can be counted.
static void a_specimen_is_counted(void **state)
{
    (void)state;
    kd_table table;
    char     message[300];
    double   most = 0;
    expect("flex " MODELS "parts/specimen.yaml -o specimen.flex", 0, "stress      at 176 places, named: chuck, middle");
    expect("flex specimen.flex", 0, "named: chuck, middle");
    expect("simulate " MODELS "rotating-bending.yaml --t-end 0.5 --output out", 0, "stress: specimen, ");
    must_contain(run_command("grep -o '<h2>Stress</h2>' '" OUT "/out/rotating-bending.html'").text, "<h2>Stress</h2>");
    must_contain(
        expect("simulate " MODELS "rotating-bending.yaml --t-end 0.01 --json --output out2", 0, "hot_spots").text,
        "\"mises\"");
    expect("rainflow out/rotating-bending.csv --channel fibre --woehler 5:2e6:400e6", 0, "damage");
    expect("loads " MODELS "rotating-bending.yaml --end 0.5 --every 0.001 --output out", 0, "largest 20");
    assert_int_equal(kd_table_read(OUT "/out/rotating-bending-specimen-stress.csv", &table, message, sizeof message),
                     KD_OK);
    assert_int_equal(table.nrows, 176);
    const double exact = 100 * 0.2 * 0.005 / (3.14159265358979 / 4 * pow(0.005, 4));
    for (int i = 0; i < table.nrows; i++) most = fmax(most, value_of(&table, i, "mises"));
    assert_true(fabs(most / exact - 1) < 0.01);
    kd_table_release(&table);
    // a place that is not there
    assert_int_equal(
        run_command("cd '" OUT
                    "' && sed 's/parts.specimen.yaml/specimen.flex/; s/stress.chuck.signed/stress.roof.signed/' " MODELS
                    "rotating-bending.yaml > wrong.yaml")
            .status,
        0);
    expect("simulate wrong.yaml", 1, "PLACE: chuck, middle");
    expect("flex " MODELS "parts/specimen.yaml --shapes shapes.inp", 1, "only a part with 'structure'");
    expect("flex specimen.flex --shapes shapes.inp", 1, "--shapes needs the part file");
}

// ---- a part of bricks -----------------------------------------------------------------------------------------------

enum { LONG = 8, ACROSS = 2 };

static int number_of(int i, int j, int k)
{
    return 100 + 3 * (i + (2 * LONG + 1) * (j + (2 * ACROSS + 1) * k));
}

// C3D20: corners, then middles of edges
static void write_brick(FILE *file, int number, int a, int b, int c)
{
    static const int at[20][3] = {{0, 0, 0}, {2, 0, 0}, {2, 2, 0}, {0, 2, 0}, {0, 0, 2}, {2, 0, 2}, {2, 2, 2},
                                  {0, 2, 2}, {1, 0, 0}, {2, 1, 0}, {1, 2, 0}, {0, 1, 0}, {1, 0, 2}, {2, 1, 2},
                                  {1, 2, 2}, {0, 1, 2}, {0, 0, 1}, {2, 0, 1}, {2, 2, 1}, {0, 2, 1}};
    fprintf(file, "%d,", number);
    for (int n = 0; n < 20; n++)
        fprintf(file, "%d%s", number_of(2 * a + at[n][0], 2 * b + at[n][1], 2 * c + at[n][2]),
                n == 14  ? ",\n"
                : n < 19 ? ", "
                         : "\n");
}

static void write_set(FILE *file, const char *name, int i)
{
    fprintf(file, "*Nset, nset=%s\n", name);
    for (int j = 0; j <= 2 * ACROSS; j++)
        for (int k = 0; k <= 2 * ACROSS; k++)
            if (i % 2 + j % 2 + k % 2 < 2) fprintf(file, "%d,\n", number_of(i, j, k));
}

// A lever of 80 x 10 x 12 mm, nodes with gaps in their numbers
static void write_lever(void)
{
    FILE *file = open_text("mesh.inp");
    int   n = 0;
    fprintf(file, "*Node, nset=Nall\n");
    for (int i = 0; i <= 2 * LONG; i++)
        for (int j = 0; j <= 2 * ACROSS; j++)
            for (int k = 0; k <= 2 * ACROSS; k++)
                if (i % 2 + j % 2 + k % 2 < 2)
                    fprintf(file, "%d, %g, %g, %g\n", number_of(i, j, k), 5.0 * i, 2.5 * j, 3.0 * k);
    fprintf(file, "*Element, type=C3D20R, elset=Eall\n");
    for (int a = 0; a < LONG; a++)
        for (int b = 0; b < ACROSS; b++)
            for (int c = 0; c < ACROSS; c++) write_brick(file, ++n, a, b, c);
    write_set(file, "bolt", 0);
    write_set(file, "pin", 2 * LONG);
    assert_int_equal(fclose(file), 0);
    write_text("part.inp", "*Include, input=mesh.inp\n*Material, name=alu\n*Elastic\n70000., 0.33\n*Density\n2.7e-9\n"
                           "*Solid section, elset=Eall, material=alu\n");
    write_text("lever.inp", "*Include, input=part.inp\n*Step\n*Frequency, solver=matrixstorage\n1\n*End step\n");
    write_text("shapes.inp", "*Include, input=part.inp\n*Include, input=modes.inp\n");
    write_text("job.inp", "*Include, input=part.inp\n*Include, input=out/m-lever-0.inp\n");
}

static const char PART[] =
    "structure: {stiffness: lever.sti, mass: lever.mas, dofs: lever.dof, nodes: lever.inp, units: "
    "{length: mm, mass: t}}\n"
    "interfaces: {bolt: {nodes: bolt}, pin: {nodes: pin}}\nreduction: {band: 9 kHz}\n"
    "reference: {tangent: bolt}\ndamping: 0.01\n";

static void write_part(const char *stress)
{
    char text[3000];
    snprintf(text, sizeof text, "%s%s", PART, stress);
    write_text("lever.yaml", text);
}

// Six components at a node in the results of a step
static void stress_in(const char *file, int node, double s[6])
{
    char line[600];
    snprintf(line, sizeof line,
             "cd '" OUT "' && awk '/STRESS/ { on = 1 } /^ -3/ { on = 0 } on && /^ -1/ && substr($0, 4, 10) + 0 == %d "
             "{ for (i = 0; i < 6; i++) print substr($0, 14 + 12 * i, 12) + 0 }' %s",
             node, file);
    const command_result r = run_command(line);
    assert_int_equal(sscanf(r.text, "%lf %lf %lf %lf %lf %lf", s, s + 1, s + 2, s + 3, s + 4, s + 5), 6);
}

// Stress by modes, whose stress CalculiX gave, is that of CalculiX under the load case of the same instant; so is it by a table that
// holds other combinations of displacements.
static void a_part_of_bricks_has_the_stress_of_calculix(void **state)
{
    (void)state;
    static const char *const word[] = {"xx", "yy", "zz", "xy", "yz", "zx"};
    kd_table                 table;
    char                     message[300], text[1500];
    double                   exact[6];
    if (run_command("command -v ccx").status != 0) {
        print_message("ccx is not installed: not compared\n");
        skip();
    }
    write_lever();
    write_part("");
    assert_int_equal(run_command("cd '" OUT "' && ccx lever > ccx.log 2>&1").status, 0);
    write_part("stress: {results: shapes.frd}\n");
    expect("flex lever.yaml", 1, "shapes.frd");
    expect("flex lever.yaml --shapes modes.inp", 0, "written     modes.inp");
    assert_int_equal(run_command("cd '" OUT "' && ccx shapes > ccx.log 2>&1").status, 0);
    // a node in the middle of the upper face, and one beside the bolt
    const int node[] = {number_of(LONG, 2, 2 * ACROSS), number_of(2, 0, 2 * ACROSS)};
    snprintf(text, sizeof text, "stress: {results: shapes.frd, places: {top: %d, edge: [10 mm, 0, 12 mm]}}\n", node[0]);
    write_part(text);
    expect("flex lever.yaml -o lever.flex", 0, "named: top, edge");
    int n =
        snprintf(text, sizeof text,
                 "kardan: 1\ngravity: [0, 0, -9.81]\nbodies: {lever: {flexible: lever.yaml}}\n"
                 "joints: {held: {type: fixed, from: ground, to: {body: lever, node: bolt}}}\n"
                 "forces: {f: {type: applied, to: {body: lever, node: pin}, force: [2, 0.3, -1], torque: [0.01, 0.02, "
                 "-0.03]}}\nsensors:\n");
    for (int p = 0; p < 2; p++)
        for (int i = 0; i < 6; i++)
            n += snprintf(text + n, sizeof text - (size_t)n, "  %c%s: body.lever.stress.%s.%s\n", p ? 'e' : 't',
                          word[i], p ? "edge" : "top", word[i]);
    snprintf(text + n, sizeof text - (size_t)n, "run: {t_end: 1e-4}\n");
    write_text("m.yaml", text);
    expect("simulate m.yaml --from-equilibrium --output out", 0, "stress: lever, ");
    expect("loads m.yaml --from-equilibrium --at 0 --output out", 0, "m-lever-0.inp");
    assert_int_equal(run_command("cd '" OUT "' && ccx job > ccx.log 2>&1").status, 0);
    assert_int_equal(kd_table_read(OUT "/out/m.csv", &table, message, sizeof message), KD_OK);
    for (int p = 0; p < 2; p++) {
        stress_in("job.frd", node[p], exact);
        double size = 0;
        for (int i = 0; i < 6; i++) size = fmax(size, 1e6 * fabs(exact[i])); // MPa
        for (int i = 0; i < 6; i++) {
            char name[8];
            snprintf(name, sizeof name, "%c%s", p ? 'e' : 't', word[i]);
            if (!(fabs(value_of(&table, 0, name) - 1e6 * exact[i]) < 1e-3 * size))
                fail_msg("%s: %g instead of %g Pa", name, value_of(&table, 0, name), 1e6 * exact[i]);
        }
    }
    kd_table_release(&table);
    // displacements of one step alone do not make up the modes; results that are cut off are noticed
    assert_int_equal(run_command("cd '" OUT "' && awk '/DISP/ { n++ } n < 2' shapes.frd > few.frd && head -c 200000 "
                                 "shapes.frd > cut.frd")
                         .status,
                     0);
    write_part("stress: {results: few.frd}\n");
    expect("flex lever.yaml", 1, "its displacements do not make up the modes");
    write_part("stress: {results: cut.frd}\n");
    expect("flex lever.yaml", 1, "cut.frd:");
    write_part("stress: {results: shapes.frd, nodes: bolts}\n");
    expect("flex lever.yaml", 1, "there is no set of nodes 'bolts'");
    write_part("stress: {results: shapes.frd, nodes: bolt}\n");
    expect("flex lever.yaml", 0, "stress      at 21 places");
    write_part("stress: true\n");
    expect("flex lever.yaml", 1, "'results' is needed");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_specimen_is_counted),
        cmocka_unit_test(a_part_of_bricks_has_the_stress_of_calculix),
    };
    return cmocka_run_group_tests(tests, start_afresh, NULL);
}
