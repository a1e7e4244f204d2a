// kardan loads as a user runs it: a table of what a flexible body carries, load cases in balance, the same deflection by CalculiX.
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define OUT KD_BINARY_DIR "/test-cli-loads"
#define BEFORE "cd '" OUT "' && "
#include "cli/run.h"
#include "cli/table.h"
#include "flexible/published.h"

static void write_text(const char *name, const char *text)
{
    char path[600];
    snprintf(path, sizeof path, OUT "/%s", name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

// A cantilever of beams with forces: reactions by hand, F L^3/(3 E I), and what load cases need.
static void beams_have_a_table(void **state)
{
    (void)state;
    char     message[300];
    kd_table table;
    write_text("beam.yaml",
               "points: {root: [0, 0, 0], tip: [2, 0, 0]}\n"
               "beams: [{from: root, to: tip, elements: 8, E: 2e11, density: 7850, section: {box: [20 mm, 30 mm]}}]\n"
               "interfaces: {root: {nodes: root}, tip: {nodes: tip}}\nreduction: {modes: 6}\ndamping: 0.05\n");
    write_text("m.yaml",
               "kardan: 1\ngravity: [0, 0, -10]\nbodies:\n  beam: {flexible: beam.yaml}\n  two: {mass: 1, inertia: [1, "
               "1, 1]}\n"
               "joints:\n  held: {type: fixed, from: ground, to: {body: beam, node: root}}\n"
               "  other: {type: fixed, from: ground, to: two}\n"
               "forces:\n  f: {type: applied, to: {body: beam, node: tip}, force: [0, 0.3, 0]}\nrun: {t_end: 0.01}\n");
    expect("loads m.yaml --from-equilibrium --output out", 0, "out/m-beam-loads.csv");
    assert_int_equal(kd_table_read(OUT "/out/m-beam-loads.csv", &table, message, sizeof message), KD_OK);
    const double weight = 10 * 7850 * 2 * 6e-4, I = 0.03 * pow(0.02, 3) / 12;
    for (int row = 0; row < table.nrows; row += table.nrows - 1) {
        assert_true(fabs(value_of(&table, row, "held.Fz") - weight) < 1e-6 * weight);
        assert_true(fabs(value_of(&table, row, "held.Fy") + 0.3) < 1e-6);
        assert_true(fabs(value_of(&table, row, "held.My") + weight) < 1e-3 * weight); // arm 1 m, a little less
        assert_true(fabs(value_of(&table, row, "held.Mz") + 0.6) < 1e-3);
        assert_true(fabs(value_of(&table, row, "tip.Fy") - 0.3) < 1e-6);
        assert_true(fabs(value_of(&table, row, "tip.uy") / (0.3 * 8 / (3 * 2e11 * I)) - 1) < 1e-4);
    }
    kd_table_release(&table);
    expect("loads m.yaml --at 0.005", 1, "only a part with 'structure' has finite elements");
    expect("loads m.yaml --body two", 2, "no flexible body 'two'");
    expect("loads m.yaml --at -1", 2, "no time behind the start");
    expect("loads m.yaml --at x", 2, "no time behind the start");
    write_text("rigid.yaml", "kardan: 1\nbodies:\n  two: {mass: 1, inertia: [1, 1, 1]}\nrun: {t_end: 1}\n");
    expect("loads rigid.yaml", 2, "no flexible body");
    expect("loads --help", 0, "--from-equilibrium");
}

// The published rod beside its files
static bool fetch_rod(void)
{
    static const char *const names[] = {"rod_free_matrices.sti.gz", "rod_free_matrices.mas.gz", "rod_free_matrices.dof",
                                        "rod_mesh.inp"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char name[80], path[600], line[1500];
        snprintf(name, sizeof name, "calculix/%s", names[i]);
        if (!*published(name, path, sizeof path)) return false;
        snprintf(line, sizeof line, "cp '%s' '" OUT "/'", path);
        assert_int_equal(run_command(line).status, 0);
    }
    write_text(
        "rod.yaml",
        "structure: {stiffness: rod_free_matrices.sti.gz, mass: rod_free_matrices.mas.gz, dofs: rod_free_matrices.dof, "
        "nodes: rod_mesh.inp}\n"
        "interfaces: {left: {nodes: LEFT, point: [0, 0, 0]}, right: {nodes: RIGHT, point: [0.5, 0, 0]}}\n"
        "reduction: {modes: 6}\nreference: {tangent: left}\ndamping: 0.02\n");
    return true;
}

// "forces left over 2.3e-14 of 832.3 N": both below a part of their size
static void must_balance(const char *text)
{
    int cases = 0;
    for (const char *at = text; (at = strstr(at, "forces left over ")) != NULL; at++, cases++) {
        double force, of, moment, of_moment;
        assert_int_equal(
            sscanf(at, "forces left over %lf of %lf N, moments %lf of %lf", &force, &of, &moment, &of_moment), 4);
        assert_true(of > 0 && force < 1e-9 * of && moment < 1e-9 * of_moment);
    }
    assert_true(cases > 0);
}

// Forces of the nodes come from the mass matrix, what holds them from the moments of modes: they balance in any motion.
static void cases_balance(void **state)
{
    (void)state;
    if (!fetch_rod()) skip();
    write_text("spin.yaml", "kardan: 1\ngravity: [0, -9.81, 0]\nbodies:\n  rod: {flexible: rod.yaml}\n"
                            "  tip: {mass: 1 kg, inertia: [0.001, 0.001, 0.001], position: [0.5, 0, 0]}\n"
                            "joints:\n  hinge: {type: spherical, from: ground, to: {body: rod, node: left}}\n"
                            "  end: {type: fixed, from: {body: rod, node: right}, to: tip}\n"
                            "forces:\n  f: {type: applied, to: {body: rod, node: right}, force: [0, 100, 30], torque: "
                            "[1, 0, 2]}\nrun: {t_end: 0.02}\n");
    const command_result r = expect("loads spin.yaml --at 0.006 --at 0.02 --output out", 0, "spin-rod-0.006.inp");
    must_balance(r.text);
    must_contain(run_command("cat '" OUT "/out/spin-rod-0.02.inp'").text, "*RIGID BODY");
}

// CalculiX, where it is installed, deflects the rod under its load case as the modes do.
static void calculix_agrees(void **state)
{
    (void)state;
    if (run_command("command -v ccx").status != 0) {
        print_message("ccx is not installed: not compared\n");
        skip();
    }
    if (!fetch_rod()) skip();
    char                     message[300];
    kd_table                 table;
    static const char *const name[] = {"right.ux", "right.uy", "right.uz", "right.rx", "right.ry", "right.rz"};
    write_text("static.yaml", "kardan: 1\ngravity: [0, 0, -0.1]\nbodies:\n  rod: {flexible: rod.yaml}\n"
                              "joints:\n  held: {type: fixed, from: ground, to: {body: rod, node: left}}\n"
                              "forces:\n  f: {type: applied, to: {body: rod, node: right}, force: [2, 0.3, -1], "
                              "torque: [0.01, 0.02, -0.03]}\nrun: {t_end: 0.001}\n");
    expect("loads static.yaml --from-equilibrium --at 0 --output out", 0, "static-rod-0.inp");
    write_text("job.inp", "*INCLUDE,INPUT=rod_mesh.inp\n*MATERIAL,NAME=STEEL\n*ELASTIC\n2.1E11,0.3\n*DENSITY\n7850.\n"
                          "*SOLID SECTION,ELSET=EALL,MATERIAL=STEEL\n*INCLUDE,INPUT=out/static-rod-0.inp\n");
    assert_int_equal(run_command("cd '" OUT "' && ccx job > ccx.log 2>&1").status, 0);
    assert_int_equal(kd_table_read(OUT "/out/static-rod-loads.csv", &table, message, sizeof message), KD_OK);
    // the last two lines: shifts and turns of the frame at the right end
    const command_result r = run_command("grep -E '^ +[0-9]' '" OUT "/job.dat' | tail -2");
    double               u[6];
    int                  id;
    assert_int_equal(sscanf(r.text, "%d %lf %lf %lf %d %lf %lf %lf", &id, u, u + 1, u + 2, &id, u + 3, u + 4, u + 5),
                     8);
    for (int i = 0; i < 6; i++) assert_true(fabs(value_of(&table, 0, name[i]) - u[i]) < 1e-4 * fabs(u[i]));
    kd_table_release(&table);
}

// The rod, held at its left end and pulled by 10 kN at the right one in CalculiX: with that matrix kardan has the frequencies that CalculiX
// finds for the rod that is pressed by 10 kN.
static void forces_stiffen_as_in_the_program(void **state)
{
    (void)state;
    static const char deck[] =
        "*INCLUDE,INPUT=rod_mesh.inp\n*MATERIAL,NAME=STEEL\n*ELASTIC\n2.1E11,0.3\n*DENSITY\n7850.\n"
        "*SOLID SECTION,ELSET=EALL,MATERIAL=STEEL\n*BOUNDARY\nLEFT,1,3\n*STEP,NLGEOM\n*STATIC\n*CLOAD\n"
        "RIGHT,1,%s2.439024390244e+02\n*END STEP\n*STEP,PERTURBATION\n*FREQUENCY%s\n5\n*END STEP\n";
    char text[800];
    if (run_command("command -v ccx").status != 0) {
        print_message("ccx is not installed: not compared\n");
        skip();
    }
    if (!fetch_rod()) skip();
    snprintf(text, sizeof text, deck, "", ",SOLVER=MATRIXSTORAGE");
    write_text("pull.inp", text);
    snprintf(text, sizeof text, deck, "-", "");
    write_text("press.inp", text);
    assert_int_equal(run_command("cd '" OUT "' && ccx pull > ccx.log 2>&1 && ccx press > ccx.log 2>&1").status, 0);
    write_text("rod.yaml",
               "structure:\n  {stiffness: rod_free_matrices.sti.gz, mass: rod_free_matrices.mas.gz, dofs: "
               "rod_free_matrices.dof,\n   nodes: rod_mesh.inp,\n   loaded: [{interface: right, axis: x, force: 10 kN, "
               "stiffness: pull.sti, dofs: pull.dof}]}\n"
               "interfaces: {left: {nodes: LEFT}, right: {nodes: RIGHT}}\nreduction: {band: 2000 Hz}\n"
               "reference: {tangent: left}\n");
    write_text("press.yaml", "kardan: 1\ngravity: [0, 0, 0]\nbodies: {rod: {flexible: rod.yaml}}\n"
                             "joints: {clamp: {type: fixed, from: ground, to: {body: rod, node: left}}}\n"
                             "forces: {press: {type: applied, to: {body: rod, node: right}, force: [-10 kN, 0, 0]}}\n");
    const command_result found = expect("modes press.yaml --from-equilibrium", 0, "[Hz]"),
                         program = run_command("cd '" OUT "' && grep -E '^ +[1-5] +0' press.dat | head -5");
    const char *a = strchr(strstr(found.text, "[Hz]"), '\n'), *b = program.text;
    for (int i = 0; i < 5; i++) {
        double own, other;
        assert_int_equal(sscanf(a, "%*f %*f %lf", &own), 1);
        assert_int_equal(sscanf(b, "%*d %*f %*f %lf", &other), 1);
        if (!(fabs(own / other - 1) < 5e-5)) fail_msg("frequency %d: %g instead of %g Hz", i + 1, own, other);
        a = strchr(a + 1, '\n');
        b = strchr(b + 1, '\n') + 1;
    }
    // an interface that is not there
    write_text("wrong.yaml",
               "structure:\n  {stiffness: rod_free_matrices.sti.gz, mass: rod_free_matrices.mas.gz, dofs: "
               "rod_free_matrices.dof,\n   nodes: rod_mesh.inp,\n   loaded: [{interface: top, axis: x, force: 10 kN, "
               "stiffness: pull.sti, dofs: pull.dof}]}\n"
               "interfaces: {left: {nodes: LEFT}, right: {nodes: RIGHT}}\nreduction: {modes: 2}\n"
               "reference: {tangent: left}\n");
    expect("flex wrong.yaml", 1, "there is no interface 'top'");
}

// A strip of bricks with incompatible modes, which have nodes inside, free and ready for matrices, or held at its left end
static void write_strip(const char *name, const char *step)
{
    enum { LONG = 8, SIDE = 2 };
    char text[6000];
    int  n = snprintf(text, sizeof text, "*NODE\n");
    for (int i = 0; i <= LONG; i++)
        for (int k = 0; k < SIDE * SIDE; k++)
            n += snprintf(text + n, sizeof text - (size_t)n, "%d, %g, %g, %g\n", 10 * i + k + 1, 0.02 * i,
                          0.03 * (k % SIDE) + 0.001 * i, 0.01 * (k / SIDE));
    n += snprintf(text + n, sizeof text - (size_t)n, "*ELEMENT, TYPE=C3D8I, ELSET=EALL\n");
    for (int i = 0; i < LONG; i++) {
        const int a = 10 * i + 1, b = a + 10;
        n += snprintf(text + n, sizeof text - (size_t)n, "%d, %d, %d, %d, %d, %d, %d, %d, %d\n", i + 1, a, b, b + 1,
                      a + 1, a + 2, b + 2, b + 3, a + 3);
    }
    n += snprintf(text + n, sizeof text - (size_t)n,
                  "*NSET, NSET=LEFT\n1, 2, 3, 4\n*NSET, NSET=RIGHT\n81, 82, 83, 84\n*MATERIAL, NAME=STEEL\n*ELASTIC\n"
                  "2.1E11, 0.3\n*DENSITY\n7850.\n*SOLID SECTION, ELSET=EALL, MATERIAL=STEEL\n%s*END STEP\n",
                  step);
    assert_true(n < (int)sizeof text);
    write_text(name, text);
}

// Bricks with nodes inside (C3D8I) have the frequencies that CalculiX finds.
static void bricks_with_inner_nodes(void **state)
{
    (void)state;
    if (run_command("command -v ccx").status != 0) {
        print_message("ccx is not installed: not compared\n");
        skip();
    }
    write_strip("strip.inp", "*STEP\n*FREQUENCY, SOLVER=MATRIXSTORAGE\n1\n");
    write_strip("held.inp", "*BOUNDARY\nLEFT, 1, 3\n*STEP\n*FREQUENCY\n5\n");
    write_text("strip.yaml", "structure: {stiffness: strip.sti, mass: strip.mas, dofs: strip.dof, nodes: strip.inp}\n"
                             "interfaces: {left: {nodes: LEFT}, right: {nodes: RIGHT, kind: average}}\n"
                             "reduction: {modes: 30}\nreference: {tangent: left}\n");
    assert_int_equal(run_command("cd '" OUT "' && ccx strip > ccx.log 2>&1 && ccx held > ccx.log 2>&1").status, 0);
    const command_result own = expect("flex strip.yaml", 0, "36 nodes, 180 unknowns"),
                         other = run_command("cd '" OUT "' && grep -E '^ +[1-5] +0' held.dat | head -5");
    const char *a = strstr(own.text, "frequencies ") + strlen("frequencies "), *b = other.text;
    for (int i = 0; i < 5; i++) {
        double found, exact;
        int    length = 0;
        assert_int_equal(sscanf(a, "%lf%n", &found, &length), 1);
        assert_int_equal(sscanf(b, "%*d %*f %*f %lf", &exact), 1);
        if (!(fabs(found / exact - 1) < 1e-5)) fail_msg("frequency %d: %g instead of %g Hz", i + 1, found, exact);
        a += length;
        b = strchr(b + 1, '\n') + 1;
    }
}

// The page of the guide, with its files, step by step.
static void the_page_runs(void **state)
{
    (void)state;
    if (run_command("command -v ccx").status != 0) {
        print_message("ccx is not installed: the page is not run\n");
        skip();
    }
    if (!fetch_rod()) skip();
    // blocks behind a line that ends with a file name and a colon are files
    write_text("page.awk", "!inside && !/^    / && /:$/ { n = split($0, a, \"`\"); name = a[n - 1] ~ /[.](inp|yaml)$/ "
                           "? a[n - 1] : \"\"; next }\n"
                           "/^```/ { inside = /yaml/; next }\n"
                           "name != \"\" && inside { print > name }\n"
                           "name != \"\" && !inside && /^    / { print substr($0, 5) > name }\n");
    assert_int_equal(
        run_command("cd '" OUT "' && rm -f rod.yaml && awk -f page.awk '" KD_SOURCE_DIR
                    "/docs/guide/calculix.md' && test -s job.inp && test -s pendulum.yaml && ccx rod > rod.log 2>&1")
            .status,
        0);
    must_contain(expect("flex rod.yaml", 0, "25 modes").text, "frequencies 67.0011 100.269 417.028");
    expect("simulate pendulum.yaml --t-end 0.05", 0, "report");
    must_balance(expect("loads pendulum.yaml --at 0.3 --output loads", 0, "pendulum-rod-0.3.inp").text);
    const command_result r =
        run_command("cd '" OUT "' && ccx job > ccx.log 2>&1 && grep -E '^ +[0-9]' job.dat | tail -2");
    char     message[300];
    kd_table table;
    double   u[6];
    int      id, row = 0;
    assert_int_equal(sscanf(r.text, "%d %lf %lf %lf %d %lf %lf %lf", &id, u, u + 1, u + 2, &id, u + 3, u + 4, u + 5),
                     8);
    assert_int_equal(kd_table_read(OUT "/loads/pendulum-rod-loads.csv", &table, message, sizeof message), KD_OK);
    while (row < table.nrows && fabs(value_of(&table, row, "t") - 0.3) > 1e-9) row++;
    assert_true(row < table.nrows);
    // what is small beside the bending differs by its square
    assert_true(fabs(value_of(&table, row, "right.uz") - u[2]) < 2e-3 * fabs(u[2]));
    assert_true(fabs(value_of(&table, row, "right.ry") - u[4]) < 2e-3 * fabs(u[4]));
    kd_table_release(&table);
    // stress of the modes
    expect("flex rod.yaml --shapes rod-shapes.inp", 0, "rod-shapes.inp");
    assert_int_equal(run_command("cd '" OUT
                                 "' && ccx shapes > ccx.log 2>&1 && sed -n 's/^    stress:/stress:/p' '" KD_SOURCE_DIR
                                 "/docs/guide/calculix.md' >> rod.yaml")
                         .status,
                     0);
    expect("flex rod.yaml", 0, "stress      at 1592 places, named: upper");
    expect("simulate pendulum.yaml --t-end 0.05", 0, "stress: rod, ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(beams_have_a_table),      cmocka_unit_test(cases_balance),
        cmocka_unit_test(calculix_agrees),         cmocka_unit_test(forces_stiffen_as_in_the_program),
        cmocka_unit_test(bricks_with_inner_nodes), cmocka_unit_test(the_page_runs),
    };
    return cmocka_run_group_tests(tests, start_afresh, NULL);
}
