// Curves and inputs from files: what is read, and what exactly is said where something is wrong.
#define _XOPEN_SOURCE 700
#include "modelfile/files.h"

#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

#include "expr/table.h"
#include "modelfile/own_folder.h"

static int wrong; // messages that are not as expected

static void write_bytes(const char *name, const char *text, size_t length)
{
    char path[300];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, length, file), length);
    fclose(file);
}

static void write_text(const char *name, const char *text)
{
    write_bytes(name, text, strlen(text));
}

// The model of curves (or inputs) of a section; NULL: message has what is behind the name of the file
static kd_model *read_section(const char *section, const char *text, char message[2000])
{
    char      path[300], whole[2000], said[3000];
    kd_model *m = NULL;
    snprintf(path, sizeof path, "%s/model.yaml", folder);
    snprintf(whole, sizeof whole, "kardan: 1\n%s:\n  %s\nsensors: {s: t}\nbodies: {b: {mass: 1, inertia: [1, 1, 1]}}\n",
             section, text);
    write_text("model.yaml", whole);
    const kd_status status = kd_model_read(path, NULL, 0, &m, said, sizeof said);
    assert_true((status == KD_OK) == (m != NULL));
    snprintf(message, 2000, "%s", said[0] ? said + strlen(path) + 1 : "");
    return m;
}

static kd_model *right(const char *section, const char *text)
{
    char      message[2000];
    kd_model *m = read_section(section, text, message);
    if (!m) fail_msg("%s", message);
    return m;
}

static void says(const char *section, const char *text, const char *expected)
{
    char      message[2000];
    kd_model *m = read_section(section, text, message);
    if (m || strcmp(message, expected) != 0)
        wrong++, print_error("%s\n expected: %s\n      got: %s\n", text, expected, message);
    kd_model_destroy(m);
}

// With a header or without, by name or number, with units, comments, blanks, quotes, semicolons and ends of lines of any kind
static void columns_are_read(void **state)
{
    (void)state;
    write_text("a.csv", "# measured\n\ntime,\"height, left\",other\n0,1,5\n0.5,3,6\n2,-1e1,7\n");
    kd_model *m =
        right("curves", "road: {file: a.csv, x: time, y: \"height, left\", x_unit: ms, y_unit: mm, outside: hold}");
    assert_int_equal(m->curve[0].def.n, 3);
    assert_near(kd_curve_value(m->curve[0].curve, 0.00125), -0.0035);
    assert_near(kd_curve_value(m->curve[0].curve, 1.0), -0.01);
    kd_model_destroy(m);
    m = right("curves", "road: {file: a.csv, x: 1, y: 3}");
    assert_near(kd_curve_value(m->curve[0].curve, 0.25), 5.5);
    kd_model_destroy(m);
    write_text("b.csv", "\xEF\xBB\xBF"
                        "0; 1\r\n1;\t2\r\n2;4\r\n");
    m = right("curves", "road: {file: b.csv, form: spline}");
    assert_near(kd_curve_value(m->curve[0].curve, 1.0), 2.0);
    kd_model_destroy(m);
    write_text("c.csv", "0 1\n 1\t2\n2    4");
    m = right("curves", "road: {file: ./c.csv}");
    assert_near(kd_curve_value(m->curve[0].curve, 1.5), 3.0);
    kd_model_destroy(m);
}

// A grid: first column x, first row y; the same table written in the model
static void grids_are_read(void **state)
{
    (void)state;
    write_text("g.csv", "v/i,0,1,3\n-1,-10,-20,-30\n0,0,1,0\n2,30,40,90\n");
    kd_model *m = right("curves", "damper: {grid: g.csv, x_unit: cm, z_unit: kN, form: spline}\n"
                                  "  same: {x: [-0.01, 0, 0.02], y: [0, 1, 3], z: [[-1e4, -2e4, -3e4], [0, 1e3, 0], "
                                  "[3e4, 4e4, 9e4]], form: spline}");
    for (double x = -0.02; x < 0.03; x += 0.003)
        for (double y = -1; y < 4; y += 0.3)
            assert_true(fabs(kd_table_value(kd_curve_table(m->curve[0].curve), x, y) -
                             kd_table_value(kd_curve_table(m->curve[1].curve), x, y)) < 1e-8);
    kd_model_destroy(m);
}

// A measured signal: an input with a curve of its name
static void signals_are_inputs(void **state)
{
    (void)state;
    write_text("s.csv", "t,u\n0,1\n1,3\n");
    kd_model *m = right("inputs", "pedal: {file: s.csv, x: t, y: u, outside: hold}\nforces: {push: {type: applied, "
                                  "body: b, force: [input.pedal, 0, 0]}}");
    assert_int_equal(m->ncurves, 1);
    assert_string_equal(m->curve[0].name, "pedal");
    assert_string_equal(m->input[0].def.value, "pedal(t)");
    kd_model_destroy(m);
}

// Every wrong file or description says where and what.
static void wrong_files_say_why(void **state)
{
    (void)state;
    write_text("a.csv", "time,height\n0,1\n0.5,3\n2,5\n");
    write_text("falls.csv", "# x\ntime,height\n0,1\n0.5,3\n0.5,5\n");
    write_text("word.csv", "time,height\n0,1\n0.5,high\n");
    write_text("nan.csv", "0,1\n1,nan\n");
    write_text("inf.csv", "0,1\n1,1e999\n");
    write_text("comma.csv", "t;h\n0;1,5\n1;2,5\n");
    write_text("short.csv", "t,h\n0,1\n1\n");
    write_text("empty.csv", "# nothing\n\n");
    write_text("header.csv", "t,h\n");
    write_text("one.csv", "t,h\n1,2\n");
    write_bytes("zero.csv",
                "0,1\n1,\0"
                "2\n",
                9);
    write_text("grid.csv", "v,0,1\n0,1,2\n");
    write_text("gridfalls.csv", "v,0,0\n0,1,2\n1,2,3\n");
    says("curves", "r: {file: missing.csv}", "3:13: curve 'r': there is no file 'missing.csv' beside the model");
    says("curves", "r: {file: a.csv, y: hight}",
         "3:23: curve 'r': 'y': a.csv: no column 'hight', did you mean 'height'?");
    says("curves", "r: {file: a.csv, y: 3}",
         "3:23: curve 'r': 'y': a.csv: no column '3'; it has 2 columns: time, height");
    says("curves", "r: {file: nan.csv, y: u}", "3:13: curve 'r': nan.csv:2: 'nan' in column 2 is not a finite number");
    says("curves", "r: {file: inf.csv}", "3:13: curve 'r': inf.csv:2: '1e999' in column 2 is not a finite number");
    says("curves", "r: {file: word.csv}", "3:13: curve 'r': word.csv:3: 'high' in column 2 is not a finite number");
    says("curves", "r: {file: comma.csv}",
         "3:13: curve 'r': comma.csv:2: '1,5' in column 2 is not a finite number; decimals have a point");
    says("curves", "r: {file: short.csv}", "3:13: curve 'r': short.csv:3: 1 value, but 2 in the lines before");
    says("curves", "r: {file: empty.csv}", "3:13: curve 'r': empty.csv:1: the file has no numbers");
    says("curves", "r: {file: header.csv}", "3:13: curve 'r': header.csv:1: the file has no numbers");
    says("curves", "r: {file: one.csv}", "3:3: curve 'r': a curve needs at least 2 rows, not 1");
    says("curves", "r: {file: zero.csv}", "3:13: curve 'r': zero.csv:2: a zero byte: this is not a text");
    says("curves", "r: {file: falls.csv}", "3:13: curve 'r': falls.csv:5: x must increase, but 0.5 follows 0.5");
    says("curves", "r: {file: a.csv, x_unit: mmm}",
         "3:28: curve 'r': 'x_unit': unknown unit 'mmm'; understood are m, g, t, s, min, h, rad, deg, rev, rpm, Hz, N, "
         "Nm, Pa, bar, J, W, l, with n u m c d k M G in front");
    says("curves", "r: {file: a.csv, z_unit: mm}",
         "3:28: curve 'r': 'z_unit' is for a 'grid'; two columns have 'x_unit' and 'y_unit'");
    says("curves", "r: {file: a.csv, colum: 1}",
         "3:20: curve 'r': unknown key 'colum' for a curve; possible are file, grid, x, y, x_unit, y_unit, z_unit, "
         "form, outside");
    says("curves", "r: {file: a.csv, grid: grid.csv}",
         "3:6: curve 'r': a curve from a file needs 'file' or 'grid', one of them");
    says(
        "curves", "r: {grid: grid.csv}",
        "3:13: curve 'r': grid.csv: a grid needs at least 3 lines of 3 values: its first column is x, its first row y");
    says("curves", "r: {grid: gridfalls.csv}",
         "3:3: curve 'r': 'y' of the table must increase, but number 2 is 0 behind 0");
    says("curves", "r: {grid: grid.csv, x: 1}",
         "3:26: curve 'r': a 'grid' has no columns to choose: its first column is x, its first row y");
    says("curves", "r: {file: a.csv, outside: repeat}",
         "3:3: curve 'r': a curve that repeats must end as it begins, but its first y is 1 and its last 5");
    says("curves", "r: {file: a.csv, outside: stay}",
         "3:29: curve 'r': 'outside' cannot be 'stay'; possible are extrapolate, hold, error, repeat");
    says("inputs", "u: {grid: gridfalls.csv}",
         "3:6: input 'u': an input is a function of time, but a 'grid' has two arguments");
    says("inputs", "u(1): {file: a.csv}",
         "3:9: input 'u(1)': a signal from a file needs a plain name of letters, digits and '_'");
    says("curves", "r: {x: [0, 1], y: [0, 1, 2], z: [[1, 2], [3, 4]]}", "3:35: curve 'r': 'z' needs 3 columns, got 2");
    says("curves",
         "r: {x: [0, 1], y: [0, 1], z: [[1, 2], [3, 4]]}\nconstraints:\n"
         "  c: {type: point_on_curve, from: ground, to: b, curve: r}\n",
         "5:57: constraint 'c': curve 'r' has two arguments; here it must have one");
    assert_int_equal(wrong, 0);
}

// Files must lie in the folder of the model: names that leave it, absolute ones and links to the outside are refused.
static void files_stay_in_the_folder(void **state)
{
    char path[300], outside[300], message[2000];
    (void)state;
    snprintf(path, sizeof path, "%s/inner", folder);
    assert_int_equal(mkdir(path, 0700), 0);
    write_text("inner/a.csv", "0,1\n1,2\n");
    write_text("secret.csv", "0,1\n1,2\n");
    kd_model_destroy(right("curves", "r: {file: inner/../inner/a.csv}"));
    says("curves", "r: {file: /etc/passwd}",
         "3:13: curve 'r': '/etc/passwd' must be relative to the folder of the model");
    says("curves", "r: {file: ../../../../../../../../etc/passwd}",
         "3:13: curve 'r': '../../../../../../../../etc/passwd' is outside of the folder of the model");
    says("curves", "r: {file: \"\"}", "3:13: curve 'r': the name of the file is empty");
    assert_null(read_section("curves", "r: {file: inner}", message));
    assert_non_null(strstr(message, "/inner: this is a folder, not a file"));
    // a link to a file beside the folder of the model
    kd_model *m = NULL;
    snprintf(path, sizeof path, "%s/inner/link.csv", folder);
    snprintf(outside, sizeof outside, "%s/secret.csv", folder);
    assert_int_equal(symlink(outside, path), 0);
    write_text("inner/model.yaml", "kardan: 1\ncurves: {r: {file: link.csv}}\n");
    snprintf(path, sizeof path, "%s/inner/model.yaml", folder);
    assert_int_equal(kd_model_read(path, NULL, 0, &m, message, sizeof message), KD_ERR_MODEL);
    assert_non_null(strstr(message, ":2:20: curve 'r': 'link.csv' is outside of the folder of the model"));
    // a text from memory has no folder
    const char *text = "kardan: 1\ncurves: {r: {file: a.csv}}\n";
    assert_int_equal(kd_model_read_text("m", text, strlen(text), NULL, 0, &m, message, sizeof message), KD_ERR_MODEL);
    assert_string_equal(
        message, "m:2:20: curve 'r': 'a.csv' cannot be found: a model that was not read from a file has no folder");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_are_read),         cmocka_unit_test(grids_are_read),
        cmocka_unit_test(signals_are_inputs),       cmocka_unit_test(wrong_files_say_why),
        cmocka_unit_test(files_stay_in_the_folder),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
