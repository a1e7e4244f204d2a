// kardan flex as a user runs it: parts of beams, bodies that go through files, mistakes.
#define _POSIX_C_SOURCE 200809L
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdbool.h>
#include <string.h>

#define OUT KD_BINARY_DIR "/test-cli-flex"
#define BEFORE "cd '" OUT "' && "
#include "cli/run.h"

// The parts of the gallery become bodies; a body is the same behind an HDF5 file and a SID file.
static void parts_become_bodies(void **state)
{
    (void)state;
    command_result r = expect("flex " MODELS "parts/blade.yaml --sid blade.SID_FEM", 0, "expected");
    must_contain(r.text, "frames      hub tip");
    expect("flex blade.SID_FEM", 0, "frequencies 1.22974 5.61813 9.21908");
    expect("flex " MODELS "parts/ladder-frame.yaml", 0, "20 modes, mass");
#ifdef KD_WITH_HDF5
    expect("flex " MODELS "parts/blade.yaml -o blade.flex --quiet", 0, "");
    expect("flex blade.flex", 0, "frequencies 1.22974 5.61813 9.21908");
    expect("flex blade.flex --json", 0, "\"reference\": \"tangent hub\"");
    expect("flex blade.SID_FEM -o again.flex", 0, "written     again.flex");
    assert_int_equal(run_command("head -c 3000 '" OUT "/blade.flex' > '" OUT "/cut.flex'").status, 0);
    expect("flex cut.flex", 1, "cut.flex: this is no HDF5 file");
#endif
}

#define BAR(material)                                                                                                  \
    "points: {a: [0, 0, 0], b: [1, 0, 0]}\nbeams: [{from: a, to: b, material: " material                               \
    ", section: {round: 0.01}}]\ninterfaces: {a: {nodes: a}, b: {nodes: b}}\n"

static void write_file(const char *name, const char *text)
{
    char path[1000];
    snprintf(path, sizeof path, OUT "/%s", name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

// A beam of a material, of the part file or of one that it includes, is the beam with its numbers.
static void beams_have_materials(void **state)
{
    (void)state;
    write_file("own.yaml", "points: {a: [0, 0, 0], b: [1, 0, 0]}\nbeams: [{from: a, to: b, E: 190e9, nu: 0.27, "
                           "density: 7700, section: {round: 0.01}}]\ninterfaces: {a: {nodes: a}, b: {nodes: b}}\n");
    write_file("here.yaml", "materials: {m: {E: 190 GPa, nu: 0.27, density: 7.7 g/cm^3}}\n" BAR("m"));
    write_file("there.yaml", "include: stuff.yaml\n" BAR("m"));
    write_file("stuff.yaml", "kardan: 1\nmaterials: {m: {E: 190 GPa, nu: 0.27, density: 7.7 g/cm^3}}\n");
    write_file("wrong.yaml", "include: bad.yaml\n" BAR("m"));
    write_file("bad.yaml", "kardan: 1\nmaterials: {m: {E: x, density: 1}}\n");
    const command_result r =
        run_command("cd '" OUT "' && for f in own here there; do " KARDAN
                    "flex $f.yaml --json | grep -v own.yaml | grep -v here.yaml | grep -v "
                    "there.yaml > $f.json; done; cmp own.json here.json && cmp own.json there.json");
    if (r.status != 0) print_error("%s\n", r.text);
    assert_int_equal(r.status, 0);
    assert_int_equal(run_command("grep -q frequencies '" OUT "/own.json'").status, 0);
    expect("flex wrong.yaml", 1, "bad.yaml:2:20: a number is expected for 'E'");
}

// A free beam that others hold in its middle, mean axes: the first torsional mode stands still there and has no momentum, nor has the
// first one that stretches it, but this one makes its moment of inertia larger. Another place at the end is moved by both.
static void idle_modes_are_told(void **state)
{
#define HELD_BEAM(more)                                                                                                \
    "points: {l: [-1, 0, 0], m: [0, 0, 0], r: [1, 0, 0]}\n"                                                            \
    "beams: [{from: l, to: m, elements: 8, E: 190e9, nu: 0.27, density: 7700, section: {round: 0.05}},"                \
    " {from: m, to: r, elements: 8, E: 190e9, nu: 0.27, density: 7700, section: {round: 0.05}}]\n"                     \
    "interfaces: {m: {nodes: m}" more "}\nreference: mean\nreduction: {modes: 20}\n"
    (void)state;
    write_file("held.yaml", HELD_BEAM(""));
    write_file("ends.yaml", HELD_BEAM(", r: {nodes: r}"));
    const command_result r = run_command("cd '" OUT "' && " KARDAN "flex held.yaml");
    assert_int_equal(r.status, 0);
    assert_non_null(strstr(r.text, ": nothing excites them\n"));
    assert_non_null(strstr(r.text, ": nothing but rotation excites them\n"));
    const command_result other = run_command("cd '" OUT "' && " KARDAN "flex ends.yaml");
    assert_int_equal(other.status, 0);
    assert_null(strstr(other.text, "idle"));
}

// What is wrong is told with line, column and what was meant; nothing is written then.
static void mistakes_are_told(void **state)
{
    static const struct {
        const char *text, *message;
    } wrong[] = {
        {"part: a\n", "w.yaml:1:1: one of 'structure', 'beams' and 'sid' is needed"},
        {"prt: a\n", "w.yaml:1:1: 'prt' is not known here; did you mean 'part'?"},
        {"points: {a: [0, 0, 0], b: [1, 0, 0]}\nbeams: [{from: a, to: c, E: 1e9, density: 1, section: {round: "
         "0.01}}]\n",
         "w.yaml:2:23: there is no such point: 'c'"},
        {"points: {a: [0, 0, 0], b: [1, 0, 0]}\nbeams: [{from: a, to: b, E: 1e9 kg, density: 1, section: {round: "
         "0.01}}]\n",
         "w.yaml:2:"},
        {"points: {a: [0, 0, 0], b: [1, 0, 0]}\nbeams: [{from: a, to: b, E: 1e9, density: 1, section: {round: "
         "0.01}}]\n",
         "'interfaces: "},
        {"points: {a: [0, 0, 0], b: [1, 0, 0]}\nbeams: [{from: a, to: b, E: 1e9, density: 1, section: {round: 0.01}}]\n"
         "interfaces: {x: {nodes: q}}\n",
         "w.yaml:3:25: neither a set of nodes nor a node: 'q'"},
        {"points: {a: [0, 0, 0], b: [1, 0, 0]}\nbeams: [{from: a, to: b, E: 1e9, density: 1, section: {round: 0.01}}]\n"
         "interfaces: {x: {nodes: a}}\nreference: {tangent: y}\n",
         "w.yaml:4:22: there is no such interface: 'y'"},
        {"points: {a: [0, 0, 0], b: [1, 0, 0]}\nbeams: [{from: a, to: b, E: 1e9, density: 1, section: {round: 0.01}}]\n"
         "interfaces: {x: {nodes: a}}\nmodes: 5000\n",
         "w.yaml:4:8: modes must be a whole number from 1 to 1000"},
        {"points: {a: [0, 0, 0], b: [1, 0, 0], c: [2, 0, 0]}\nbeams: [{from: a, to: b, E: 1e9, density: 1, section: "
         "{round: "
         "0.01}}]\nmasses: {c: {mass: 1, inertia: [1, 1, 1, 0, 0, 0]}}\ninterfaces: {a: {nodes: a}, b: {nodes: b}}\n",
         "w.yaml: with its interfaces held the part can still move without force"},
        {"materials: {steel: {E: 2e11, density: 7850}}\n" BAR("stel"),
         "w.yaml:3:36: there is no material 'stel', did you mean 'steel'?"},
        {"materials: {steel: {E: 2e11}}\n" BAR("steel"), "w.yaml:3:36: material 'steel' has no 'density'"},
        {"materials: {steel: 7850}\n" BAR("steel"), "w.yaml:3:36: material 'steel' has no 'E'"},
        {BAR("steel"), "w.yaml:2:36: there is no material 'steel'"},
        {"materials: {steel: {E: 2e11, density: 7850}}\n" BAR("steel, E: 1e9"),
         "w.yaml:3:46: the material has it already; give one of both: 'E'"},
        {"materials: [steel]\n" BAR("steel"), "w.yaml:1:12: 'materials' must be like {steel: {E: 210 GPa}}"},
        {"include: no.yaml\n" BAR("steel"), "w.yaml:1:10: there is no file 'no.yaml' beside the model"},
        {"include: w.yaml\n" BAR("steel"), "it has no 'materials', for which a part includes it"},
        {"structure: {stiffness: no.sti, mass: no.mas, nodes: no.inp}\n", "no.sti"},
        {"structure: {stiffness: ../no.sti, mass: no.mas, nodes: no.inp}\n", "w.yaml:1:"},
    };
    char line[2000];
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        write_file("w.yaml", wrong[i].text);
        expect("flex w.yaml -o w.flex", 1, wrong[i].message);
        assert_int_not_equal(run_command("test -e '" OUT "/w.flex'").status, 0);
    }
    snprintf(line, sizeof line, "flex nothing.txt");
    expect(line, 1, "neither a part");
    expect("flex", 2, "PART");
    expect("flex w.yaml -o w.yaml", 2, "is the part itself");
    expect("flex --help", 0, "interfaces:");
}

// A lattice of bars between 3 x 2 x 2 nodes in files, lengths in `length` metres, masses in `mass` kilograms
static void write_lattice(const char *name, double length, double mass)
{
    enum { NODES = 12 };
    double at[NODES][3], K[3 * NODES][3 * NODES] = {{0}};
    char   path[1000];
    for (int i = 0; i < NODES; i++) at[i][0] = 0.1 * (i / 4), at[i][1] = 0.06 * (i / 2 % 2), at[i][2] = 0.05 * (i % 2);
    for (int i = 0; i < NODES; i++)
        for (int j = 0; j < i; j++) {
            double d[3], square = 0;
            for (int a = 0; a < 3; a++) d[a] = at[i][a] - at[j][a], square += d[a] * d[a];
            if (square > 0.13 * 0.13) continue;
            for (int a = 0; a < 3; a++)
                for (int b = 0; b < 3; b++) {
                    const double k = 1e7 * (1 + 0.1 * i) * d[a] * d[b] / square;
                    K[3 * i + a][3 * i + b] += k, K[3 * j + a][3 * j + b] += k;
                    K[3 * i + a][3 * j + b] -= k, K[3 * j + a][3 * i + b] -= k;
                }
        }
    for (int file = 0; file < 3; file++) {
        snprintf(path, sizeof path, OUT "/%s.%s", name, file == 0 ? "sti" : file == 1 ? "mas" : "inp");
        FILE *out = fopen(path, "w");
        assert_non_null(out);
        if (file == 2) fprintf(out, "*NODE\n");
        for (int i = 0; file == 2 && i < NODES; i++)
            fprintf(out, "%d, %.17g, %.17g, %.17g\n", i + 1, at[i][0] / length, at[i][1] / length, at[i][2] / length);
        for (int i = 0; file < 2 && i < 3 * NODES; i++)
            for (int j = 0; j < 3 * NODES; j++) {
                const double value = file == 0 ? K[i][j] : i == j ? 0.1 + 0.01 * (i / 3) : 0;
                if (value != 0) fprintf(out, "%d %d %.17g\n", i + 1, j + 1, value / mass);
            }
        fclose(out);
    }
}

#define LATTICE(name, more)                                                                                            \
    "structure: {stiffness: " name ".sti, mass: " name ".mas, nodes: " name ".inp" more                                \
    "}\ninterfaces: {a: {nodes: [1, 2, 3, 4]}, b: {nodes: [9, 10, 11, 12]}}\nreduction: {modes: 2}\n"

// Files in millimetres and tonnes give the body that files in units of the SI give; without 'units' they are warned of.
static void files_have_units(void **state)
{
    (void)state;
    write_lattice("si", 1, 1);
    write_lattice("mm", 1e-3, 1e3);
    write_file("si.yaml", LATTICE("si", ""));
    write_file("mm.yaml", LATTICE("mm", ", units: {length: mm, mass: t}"));
    write_file("bare.yaml", LATTICE("mm", ""));
    write_file("scaled.yaml", LATTICE("mm", ", scale: 0.001"));
    const command_result r = run_command("cd '" OUT "' && for f in si mm; do " KARDAN
                                         "flex $f.yaml | grep -v written > $f.txt; done; cmp si.txt mm.txt");
    if (r.status != 0) print_error("%s\n", r.text);
    assert_int_equal(r.status, 0);
    const command_result si = expect("flex si.yaml", 0, "mass 1.86 kg, centre (0.117204,");
    assert_null(strstr(si.text, "warning"));
    expect("flex bare.yaml", 0, "warning: mm.sti: the speed of sound would be about");
    expect("flex scaled.yaml", 0, "warning: mm.sti: the density would be about");
    // what is wrong with a matrix is told with its file
    assert_int_equal(run_command("cp '" OUT "/si.sti' '" OUT "/w0.sti'; cp '" OUT "/si.inp' '" OUT
                                 "/w0.inp'; sed 's/ [^ ]*$/ 0/' '" OUT "/si.mas' > '" OUT "/w0.mas'")
                         .status,
                     0);
    write_file("w.yaml", LATTICE("w0", ""));
    expect("flex w.yaml", 1, "w0.mas: the mass matrix is zero");
    assert_int_equal(
        run_command("cp '" OUT "/si.mas' '" OUT "/w0.mas'; head -n 200 '" OUT "/si.sti' > '" OUT "/w0.sti'").status, 0);
    expect("flex w.yaml", 1, "w0.sti: the stiffness matrix is not symmetric, most in row ");
    // two lattices side by side that nothing connects
    assert_int_equal(
        run_command(
            "cd '" OUT "' && for m in sti mas; do (cat si.$m; awk '{print $1+36, $2+36, $3}' si.$m) > w0.$m; done "
            "&& awk -F, '/^[0-9]/ && NF == 4 {print $1+12 \", \" $2 \", \" $3+5 \", \" $4}' si.inp > more.txt && "
            "awk '/^\\*NODE/ {print; while ((getline line < \"more.txt\") > 0) print line; next} {print}' si.inp > "
            "w0.inp")
            .status,
        0);
    expect("flex w.yaml", 1, "w0.sti: nothing connects node 13 with node 1)");
    assert_int_equal(run_command("cd '" OUT "' && cp si.mas w0.mas && cp si.inp w0.inp").status, 0);
    // a stiffness in other units asks for hundreds of modes: the units are named with it
    assert_int_equal(
        run_command("awk '{printf \"%s %s %.17g\\n\", $1, $2, $3/1000}' '" OUT "/si.sti' > '" OUT "/w0.sti'").status,
        0);
    expect("flex w.yaml", 0, "warning: w0.sti: the speed of sound would be about");
    assert_int_equal(run_command("sed '3s/ [^ ]*$/ -7/' '" OUT "/si.sti' > '" OUT "/w0.sti'").status, 0);
    expect("flex w.yaml", 1, "w0.sti: the stiffness matrix ");
    assert_int_equal(run_command("cat '" OUT "/si.sti' '" OUT "/si.sti' > '" OUT "/w0.sti'").status, 0);
    expect("flex w.yaml", 1, "w0.sti: the entry of row 1 and column 1 is there twice");
    write_file("w.yaml", LATTICE("mm", ", units: {length: kg, mass: t}"));
    expect("flex w.yaml", 1, "not a unit of length: 'kg'");
    write_file("w.yaml", LATTICE("mm", ", scale: 0.001, units: {length: mm}"));
    expect("flex w.yaml", 1, "'scale' is of the nodes alone");
}

// A part or a body that takes one of two modes of the same frequency is warned of; with both there is nothing to say
static void cut_pairs_are_told(void **state)
{
    static const int pair[] = {1, 4, 6}; // the shaft is round: its bending modes come in pairs, twist alone
    char             command[600];
    (void)state;
    for (int modes = 1; modes < 8; modes++) {
        bool cut = false;
        for (size_t i = 0; i < sizeof pair / sizeof *pair; i++) cut = cut || modes == pair[i];
        snprintf(command, sizeof command,
                 "mkdir -p '" OUT "/parts' && cd '" OUT "' && sed 's/^modes: 8/modes: %d/' " MODELS
                 "parts/rotor-shaft.yaml > parts/cut.yaml && cp " MODELS "parts/rotor-shaft.yaml parts/ && "
                 "sed 's/rotor-shaft.yaml/rotor-shaft.yaml, modes: %d/' " MODELS "flexible-rotor.yaml > rotor.yaml",
                 modes, modes);
        assert_int_equal(run_command(command).status, 0);
        const command_result part = expect("flex parts/cut.yaml", 0, "");
        assert_true((strstr(part.text, "have the same frequency") != NULL) == cut);
        const command_result body = expect("check rotor.yaml", 0, "");
        assert_true((strstr(body.text, "have the same frequency") != NULL) == cut);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cut_pairs_are_told),   cmocka_unit_test(parts_become_bodies),
        cmocka_unit_test(beams_have_materials), cmocka_unit_test(idle_modes_are_told),
        cmocka_unit_test(mistakes_are_told),    cmocka_unit_test(files_have_units),
    };
    return cmocka_run_group_tests(tests, start_afresh, NULL);
}
