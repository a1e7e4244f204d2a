// The commands that write and tidy model files, as a user runs them: kardan new, format, and the tree of kardan check.
#define _POSIX_C_SOURCE 200809L
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define OUT KD_BINARY_DIR "/test-cli-new"
#define BEFORE "cd '" OUT "' && "
#include "cli/run.h"

// Every start is ready, runs with a clean certificate, has comments, and is in order.
static void starts_run(void **state)
{
    static const char *const kinds[] = {"chain", "car", "robot", "mechanism"};
    char                     line[500];
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        snprintf(line, sizeof line, "new %s-start --from %s", kinds[i], kinds[i]);
        expect(line, 0, "kardan simulate");
        snprintf(line, sizeof line, "check %s-start.yaml", kinds[i]);
        expect(line, 0, "Ready to simulate.");
        snprintf(line, sizeof line, "simulate %s-start.yaml --clean", kinds[i]);
        expect(line, 0, "verdict: clean");
        snprintf(line, sizeof line, "format %s-start.yaml --check", kinds[i]);
        expect(line, 0, "in order");
    }
    assert_int_equal(run_command("grep -c '#' '" OUT "/car-start.yaml' | grep -qE '^(1[0-9]|2[0-9])$'").status, 0);
}

// A file that is there stays; unknown kinds are told with what is possible.
static void new_is_careful(void **state)
{
    (void)state;
    assert_int_equal(run_command("echo mine > '" OUT "/mine.yaml'").status, 0);
    expect("new mine", 1, "'mine.yaml' cannot be written; if it is there, give another name or --force");
    assert_int_equal(run_command("grep -qx mine '" OUT "/mine.yaml'").status, 0);
    expect("new mine.yaml --force", 0, "mine.yaml: try");
    expect("new other --from robt", 2, "unknown start 'robt', did you mean 'robot'?");
    expect("new nowhere/other", 1, "'nowhere/other.yaml' cannot be written");
    expect("new --help", 0, "chain|car|robot|mechanism");
}

// The tree of a mechanism with loops, and of bodies that move freely.
static void trees_are_drawn(void **state)
{
    (void)state;
    expect("check " MODELS "slider-crank.yaml", 0, "Tree.\n  ground\n");
    const command_result r = expect("check " MODELS "four-bar.yaml", 0, "closing loops: ");
    must_contain(r.text, "`- ");
    must_contain(r.text, ", driven");
    expect("check " MODELS "satellite.yaml", 0, "Tree.");
    expect("check " MODELS "chain.yaml --set N=60", 0, "and so on");
}

static const char *const MESSY = "# head\n"
                                 "# of the file\n"
                                 "\n"
                                 "kardan: 1\n"
                                 "run: {t_end: 1}   \n"
                                 "# what moves\n"
                                 "bodies:\n"
                                 "  # the first\n"
                                 "  b: {inertia: [1, 1, 1], mass: 2, position: [max(0, 1), 0, 0]}   # heavy\n"
                                 "  a:\n"
                                 "    shape: {box: [1, 1, 1], density: 2}\n"
                                 "    # where\n"
                                 "    position: [0,\n"
                                 "      0, 1]\n"
                                 "\n\n\n"
                                 "joints:\n"
                                 "  j: {axis: [0, 0, 1], point: [0, 0, 0], bodies: [ground, b], type: revolute}\n"
                                 "  k: {bodies: [b, a], type: free}\n"
                                 "gravity: [0, 0, -1]\n"
                                 "sensors: {s: \"max(t, joint.j.q)\"}\n"
                                 "# the end\n";
static const char *const TIDY = "# head\n"
                                "# of the file\n"
                                "kardan: 1\n"
                                "gravity: [0, 0, -1]\n"
                                "\n"
                                "# what moves\n"
                                "bodies:\n"
                                "  # the first\n"
                                "  b: {position: [max(0, 1), 0, 0], mass: 2, inertia: [1, 1, 1]}   # heavy\n"
                                "  a:\n"
                                "    # where\n"
                                "    position: [0,\n"
                                "      0, 1]\n"
                                "    shape: {box: [1, 1, 1], density: 2}\n"
                                "\n"
                                "joints:\n"
                                "  j: {type: revolute, bodies: [ground, b], point: [0, 0, 0], axis: [0, 0, 1]}\n"
                                "  k: {type: free, bodies: [b, a]}\n"
                                "\n"
                                "sensors: {s: \"max(t, joint.j.q)\"}\n"
                                "# the end\n"
                                "\n"
                                "run: {t_end: 1}\n";

// Braces inside of braces, over several lines, with comments; names that are words of the language stay where they are.
static const char *const NESTED =
    "kardan: 1\n"
    "parameters: {k: 1, mass: 2, box: 3, body: 4}\n"
    "sensors: {type: t, box: joint.j.q}\n"
    "bodies: {b: {shape: {density: 2, box: [1, 1, 1]}, position: [0, 0, 0]}, a: {inertia: [1,1,1], mass: 1}}\n"
    "joints:\n"
    "  j: {cut: no,     # of the hinge\n"
    "      to: {point: [0, 0, 0], body: b},\n"
    "      # where it begins\n"
    "      from: {in: body, axis: [0, 0, 1], body: ground},\n"
    "      type: revolute,      # the kind\n"
    "  }\n"
    "  k: {hold: true, v: 1,\n"
    "      bodies: [b, a], point: [0, 0, 0],\n"
    "      axis: [max(0, 1), 0, 0], type: revolute}\n"
    "  l:\n"
    "    to:\n"
    "      point: [1, 0, 0]\n"
    "      body: a\n"
    "    # the frame\n"
    "    from: {point: [1, 0, 0], body: ground}\n"
    "    cut: yes\n"
    "    type: spherical\n"
    "forces:\n"
    "  f: {law: \"-max(q, 0)\", type: joint_spring, joint: j}\n"
    "constraints:\n"
    "  c: {terms: {joint.k.q: 1, joint.j.q: -2}, type: coupling}\n"
    "definitions:\n"
    "  wheel:\n"
    "    bodies:\n"
    "      w:\n"
    "        shape:\n"
    "          - {density: 3, sphere: 0.1}\n"
    "          - {position: [0,\n"
    "                        1, 0], density: 3,\n"
    "             sphere: 0.1}\n"
    "    parameters: {b: 1, axis: 2}\n"
    "subsystems:\n"
    "  s: {position: [0, 0, 1], of: wheel, parameters: {axis: 3}, replace: {w: {mass: 1, position: [1, 0, 0], inertia: "
    "[1, 1, 1]}}}\n";
static const char *const ORDERED =
    "kardan: 1\n"
    "parameters: {k: 1, mass: 2, box: 3, body: 4}\n"
    "\n"
    "definitions:\n"
    "  wheel:\n"
    "    parameters: {b: 1, axis: 2}\n"
    "    bodies:\n"
    "      w:\n"
    "        shape:\n"
    "          - {sphere: 0.1, density: 3}\n"
    "          - {sphere: 0.1, position: [0,\n"
    "                        1, 0],\n"
    "             density: 3}\n"
    "\n"
    "subsystems:\n"
    "  s: {of: wheel, position: [0, 0, 1], parameters: {axis: 3}, replace: {w: {position: [1, 0, 0], mass: 1, inertia: "
    "[1, 1, 1]}}}\n"
    "\n"
    "bodies: {b: {position: [0, 0, 0], shape: {box: [1, 1, 1], density: 2}}, a: {mass: 1, inertia: [1, 1, 1]}}\n"
    "\n"
    "joints:\n"
    "  j: {type: revolute,  # the kind\n"
    "      # where it begins\n"
    "      from: {body: ground, axis: [0, 0, 1], in: body},\n"
    "      to: {body: b, point: [0, 0, 0]},\n"
    "      cut: no  # of the hinge\n"
    "      }\n"
    "  k: {type: revolute, bodies: [b, a],\n"
    "      point: [0, 0, 0], axis: [max(0, 1), 0, 0],\n"
    "      hold: true, v: 1}\n"
    "  l:\n"
    "    type: spherical\n"
    "    # the frame\n"
    "    from: {body: ground, point: [1, 0, 0]}\n"
    "    to:\n"
    "      body: a\n"
    "      point: [1, 0, 0]\n"
    "    cut: yes\n"
    "\n"
    "constraints:\n"
    "  c: {type: coupling, terms: {joint.k.q: 1, joint.j.q: -2}}\n"
    "\n"
    "forces:\n"
    "  f: {type: joint_spring, joint: j, law: \"-max(q, 0)\"}\n"
    "\n"
    "sensors: {type: t, box: joint.j.q}\n";

static void write_text(const char *name, const char *text)
{
    char path[1000];
    snprintf(path, sizeof path, OUT "/%s", name);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void has_text(const char *name, const char *text)
{
    write_text("expected", text);
    char line[2000];
    snprintf(line, sizeof line, "diff '" OUT "/%s' '" OUT "/expected'", name);
    const command_result r = run_command(line);
    if (r.status != 0) print_error("%s\n", r.text);
    assert_int_equal(r.status, 0);
}

// Sections and keys in order, comments with what they belong to, elements where they were; once more changes nothing.
static void format_keeps_comments(void **state)
{
    (void)state;
    write_text("messy.yaml", MESSY);
    expect("format messy.yaml --check", 1, "not in order");
    has_text("messy.yaml", MESSY);
    expect("format messy.yaml", 0, "put in order");
    has_text("messy.yaml", TIDY);
    expect("format messy.yaml", 0, "messy.yaml: in order");
    has_text("messy.yaml", TIDY);
    assert_int_equal(run_command("ls '" OUT "' | grep -c 'format-'").status, 1); // nothing is left behind
}

static void format_orders_inside_of_braces(void **state)
{
    (void)state;
    write_text("nested.yaml", NESTED);
    expect("format nested.yaml", 0, "put in order");
    has_text("nested.yaml", ORDERED);
    expect("format nested.yaml --check", 0, "nested.yaml: in order");
    has_text("nested.yaml", ORDERED);
    // a part that is no model alone
    write_text("part.yaml", "kardan: 1\nbodies: {b: {inertia: [1, 1, 1], mass: 1}}\n"
                            "joints: {j: {bodies: [hub, b], type: free}}\nneeds: {hub: body}\n");
    expect("format part.yaml", 0, "put in order");
    has_text("part.yaml", "kardan: 1\nneeds: {hub: body}\n\nbodies: {b: {mass: 1, inertia: [1, 1, 1]}}\n\n"
                          "joints: {j: {type: free, bodies: [hub, b]}}\n");
}

// All models of the gallery stay the same models, and are in order after one pass.
static void gallery_stays_the_same(void **state)
{
    (void)state;
    assert_int_equal(run_command("cp -r '" KD_SOURCE_DIR "/models' '" OUT "/gallery'").status, 0);
    const command_result r =
        run_command("cd '" OUT "/gallery' && for f in *.yaml library/*.yaml; do " KARDAN
                    "format $f || echo BAD; " KARDAN "format $f --check > /dev/null || echo AGAIN $f; done");
    if (strstr(r.text, "BAD") || strstr(r.text, "AGAIN")) print_error("%s\n", r.text);
    assert_null(strstr(r.text, "BAD"));
    assert_null(strstr(r.text, "AGAIN"));
}

// What is no model, or not written in sections, is left alone.
static void format_refuses(void **state)
{
    (void)state;
    write_text("wrong.yaml", "run: {t_end: 1}\nkardan: 1\nbodies: {a: {mas: 1}}\n");
    expect("format wrong.yaml", 1, "'wrong.yaml' is left as it is");
    has_text("wrong.yaml", "run: {t_end: 1}\nkardan: 1\nbodies: {a: {mas: 1}}\n");
    write_text("flow.yaml", "{kardan: 1}\n");
    expect("format flow.yaml", 1, "it is not written as sections");
    expect("format none.yaml", 1, "none.yaml");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(starts_run),
        cmocka_unit_test(new_is_careful),
        cmocka_unit_test(trees_are_drawn),
        cmocka_unit_test(format_keeps_comments),
        cmocka_unit_test(format_orders_inside_of_braces),
        cmocka_unit_test(gallery_stays_the_same),
        cmocka_unit_test(format_refuses),
    };
    return cmocka_run_group_tests(tests, start_afresh, NULL);
}
