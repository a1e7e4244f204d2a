// Roads from OpenCRG files: elevations and places against published points, slopes against differences, files that are wrong.
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on
#include <math.h>
#include <string.h>

#include "flexible/published.h"
#include "vehicle/crg.h"

// Elevations over u and v, places of the points, and elevations over x and y agree with those of a table; the number of its rows
static int compare_points(const char *road, const char *table)
{
    char    line[400], message[400] = "";
    int     points = 0;
    kd_crg *crg = NULL;
    if (kd_crg_read(road, &crg, message, sizeof message) != KD_OK) fail_msg("%s", message);
    FILE *file = fopen(table, "r");
    assert_non_null(file);
    assert_non_null(fgets(line, sizeof line, file));
    while (fgets(line, sizeof line, file)) {
        double u, v, z, x, y, px, py, at[3], uv[2];
        if (sscanf(line, "%lf,%lf,%lf,%lf,%lf", &u, &v, &z, &x, &y) != 5) fail_msg("%s", line);
        kd_crg_place(crg, u, v, &px, &py);
        kd_crg_at(crg, x, y, at, uv);
        if (!(fabs(kd_crg_elevation(crg, u, v) - z) < 1e-9))
            fail_msg("%s: %g at %g, %g", table, kd_crg_elevation(crg, u, v), u, v);
        if (!(hypot(px - x, py - y) < 1e-9)) fail_msg("%s: %g, %g is at %.12g, %.12g", table, u, v, px, py);
        if (!(fabs(at[0] - z) < 1e-9)) fail_msg("%s: %.12g instead of %.12g at x %g, y %g", table, at[0], z, x, y);
        if (!(fabs(uv[0] - u) < 1e-8 && fabs(uv[1] - v) < 1e-8))
            fail_msg("%s: %.12g, %.12g are found as %.12g, %.12g", table, u, v, uv[0], uv[1]);
        points++;
    }
    fclose(file);
    kd_crg_destroy(crg);
    return points;
}

// The published roads.
static void published_points(void **state)
{
    static const char *const names[] = {"handmade_straight", "handmade_curved_banked_sloped", "handmade_circle",
                                        "halfround_4in"};
    char                     path[600], table[600], name[100];
    int                      points = 0;
    (void)state;
    if (!*published_in("vehicle", "roads/handmade_straight.crg", path, sizeof path)) skip();
    for (int i = 0; i < 4; i++) {
        snprintf(name, sizeof name, "roads/%s.crg", names[i]);
        published_in("vehicle", name, path, sizeof path);
        snprintf(name, sizeof name, "roads/%s_points.csv", names[i]);
        points += compare_points(path, published_in("vehicle", name, table, sizeof table));
    }
    assert_int_equal(points, 288);
}

// Random roads of all formats, curved, sloped, banked, with missing values, against crg_reference.py.
static void random_roads(void **state)
{
    static const char *const formats[] = {"lrfi", "ldfi", "krbi", "kdbi"};
    char                     road[600], table[600];
    (void)state;
    for (int i = 0; i < 4; i++) {
        snprintf(road, sizeof road, KD_SOURCE_DIR "/tests/vehicle/data/random_%s.crg", formats[i]);
        snprintf(table, sizeof table, KD_SOURCE_DIR "/tests/vehicle/data/random_%s.csv", formats[i]);
        assert_int_equal(compare_points(road, table), 60);
    }
}

#define HEAD                                                                                                           \
    "$CT\nhand made\n$ROAD_CRG ! comment\nREFERENCE_LINE_START_U = 0\nREFERENCE_LINE_END_U = %s\n"                     \
    "REFERENCE_LINE_INCREMENT = 2\nLONG_SECTION_V_RIGHT = -1\nLONG_SECTION_V_LEFT = 1\n$KD_DEFINITION\n#:%s\n"

static kd_status parse(const char *end, const char *format, const char *rest, kd_crg **crg, char *message, size_t size)
{
    char text[4000];
    snprintf(text, sizeof text, HEAD "%s", end, format, rest);
    message[0] = '\0';
    return kd_crg_parse("a.crg", text, strlen(text), crg, message, size);
}

static const char curved[] =
    "D:reference line phi,rad\nD:long section 1,m\nD:long section 2,m\nD:long section 3,m\n$$$$\n"
    "**unused** 0.0000000 0.0000000 0.0000000\n 0.1000000 0.0100000**missing* 0.0300000\n"
    " 0.2000000 0.0400000 0.0500000 0.0200000\n 0.1500000 0.0100000 0.0700000**missing*\n";

// Slopes by x and y are those of the elevations, on pieces that turn; missing values are filled in; beyond the road it is level.
static void slopes(void **state)
{
    kd_crg *crg = NULL;
    char    message[400];
    double  u[2], v[2], z[2];
    (void)state;
    if (parse("6", "LRFI", curved, &crg, message, sizeof message) != KD_OK) fail_msg("%s", message);
    kd_crg_ends(crg, u, v, z);
    assert_int_equal(kd_crg_missing(crg), 2);
    assert_true(u[1] == 6 && v[0] == -1 && v[1] == 1 && fabs(z[1] - 0.07) < 1e-15);
    assert_true(fabs(kd_crg_elevation(crg, 6, 1) - 0.07) < 1e-15);
    for (int n = 0; n < 500; n++) {
        double       x, y, at[3], up[3], down[3];
        const double h = 1e-7;
        kd_crg_place(crg, 6 * fabs(sin(n * 1.37)), 1.6 * sin(n * 2.11), &x, &y);
        kd_crg_at(crg, x, y, at, NULL);
        for (int k = 0; k < 2; k++) {
            kd_crg_at(crg, x + (k == 0 ? h : 0), y + (k == 1 ? h : 0), up, NULL);
            kd_crg_at(crg, x - (k == 0 ? h : 0), y - (k == 1 ? h : 0), down, NULL);
            if (!(fabs((up[0] - down[0]) / (2 * h) - at[1 + k]) < 1e-6) && fabs(up[0] - 2 * at[0] + down[0]) < 1e-13)
                fail_msg("%d: slope %d at %g, %g is %g, not %g", n, k, x, y, at[1 + k], (up[0] - down[0]) / (2 * h));
        }
    }
    kd_crg_destroy(crg);
}

// a road of two by two points, with further lines of $ROAD_CRG, modifiers, and what follows
static const char small_rest[] =
    "D:long section 1\nD:long section 2, m\n$$$$\n 0.1000000 0.2000000\n 0.3000000 0.4000000\n";
static const char small_head[] =
    "$ROAD_CRG\nREFERENCE_LINE_START_U = 5\nREFERENCE_LINE_END_U = 7\nREFERENCE_LINE_INCREMENT = 2\n"
    "LONG_SECTION_V_RIGHT = -1\nLONG_SECTION_V_LEFT = 1\nreference_line_start_z = 3\n%s"
    "$ROAD_CRG_MODS\n%s$KD_DEFINITION\n#:LRFI\n%s";

// Heading, slope and banking without channel are constants of the head: z = z_0 + s u + b v + grid.
static void constants(void **state)
{
    static const struct {
        const char *lines, *mods;
        double      slope, bank, phi;
    } list[] = {{"", "", 0, 0, 0},
                {"reference_line_start_s = 0.25\nreference_line_end_b = -0.5\n", "", 0.25, -0.5, 0},
                {"reference_line_end_s = 0.25\nreference_line_start_b = 0.5\nreference_line_end_b = 0.5\n",
                 "GRID_SCALE_SECTIONS = 2\n", 0.25, 0.5, 0},
                {"reference_line_end_z = 4\nreference_line_end_x = 1.2\nreference_line_end_y = 1.6\n", "", 0.5, 0,
                 0.92729521800161223},
                {"reference_line_start_phi = 0.3\n", "", 0, 0, 0.3}};
    (void)state;
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        kd_crg *crg = NULL;
        char    text[2000], message[400] = "";
        double  x, y;
        snprintf(text, sizeof text, small_head, list[i].lines, list[i].mods, small_rest);
        if (kd_crg_parse("a.crg", text, strlen(text), &crg, message, sizeof message) != KD_OK) fail_msg("%s", message);
        const double z = 3 + list[i].slope * 1.5 + list[i].bank * 0.5 + 0.1 + 0.2 * 0.75 + 0.1 * 0.75;
        assert_true(fabs(kd_crg_elevation(crg, 6.5, 0.5) - z) < 1e-15);
        kd_crg_place(crg, 6.5, 0, &x, &y);
        assert_true(fabs(x - 1.5 * cos(list[i].phi)) < 1e-15 && fabs(y - 1.5 * sin(list[i].phi)) < 1e-15);
        assert_int_equal(kd_crg_modified(crg), *list[i].mods != 0);
        assert_string_equal(kd_crg_unknown(crg), "");
        kd_crg_destroy(crg);
    }
}

// Names that are not known, or that would move the road, are told; those without effect are not.
static void unknown_names(void **state)
{
    static const struct {
        const char *lines, *told;
    } list[] = {{"REFERENCE_LINE_BEGIN_U = 3.0\n", "reference_line_begin_u"},
                {"reference_line_offset_x = 0.0\nReference_Line_Offset_Y = 0.5\n", "reference_line_offset_y"},
                {"reference_line_offset_z = 0.0\nreference_line_end_phi = 0.4\nreference_line_start_lon = 9.1\n", ""}};
    (void)state;
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        kd_crg *crg = NULL;
        char    text[2000], message[400] = "";
        snprintf(text, sizeof text, small_head, list[i].lines, "", small_rest);
        if (kd_crg_parse("a.crg", text, strlen(text), &crg, message, sizeof message) != KD_OK) fail_msg("%s", message);
        assert_string_equal(kd_crg_unknown(crg), list[i].told);
        kd_crg_destroy(crg);
    }
}

// A range holds all elevations of its rectangle, is exact for a point, and shrinks with the rectangle.
static void ranges(void **state)
{
    static const char straight[] =
        "D:long section 1,m\nD:long section 2,m\nD:long section 3,m\n$$$$\n 0.0000000 0.0100000 0.0000000\n"
        " 0.0400000 0.0000000 0.0300000\n 0.0000000 0.0500000 0.0200000\n 0.0100000 0.0700000 0.0000000\n";
    (void)state;
    for (int road = 0; road < 2; road++) {
        kd_crg *crg = NULL;
        char    message[400];
        if (parse("6", "LRFI", road ? straight : curved, &crg, message, sizeof message) != KD_OK)
            fail_msg("%s", message);
        for (int n = 0; n < 400; n++) {
            const double cx = 3 + 4 * sin(1.3 * n), cy = 0.5 + 1.5 * sin(2.9 * n), half = 1.5 * pow(10, -(n % 8) * 0.7);
            const double x[2] = {cx - half, cx + half * fabs(cos(n))}, y[2] = {cy - half * fabs(sin(3 * n)), cy + half};
            double       z[2], at[3], most = -INFINITY, least = INFINITY;
            kd_crg_range(crg, x, y, z);
            for (int i = 0; i <= 40; i++)
                for (int j = 0; j <= 40; j++) {
                    kd_crg_at(crg, x[0] + (x[1] - x[0]) * i / 40, y[0] + (y[1] - y[0]) * j / 40, at, NULL);
                    most = fmax(most, at[0]), least = fmin(least, at[0]);
                }
            if (!(z[0] <= least + 1e-15 && z[1] >= most - 1e-15))
                fail_msg("road %d, %d: %.12g .. %.12g is not in %.12g .. %.12g", road, n, least, most, z[0], z[1]);
            // slopes are below 0.06
            if (!(z[1] - z[0] <= 0.12 * 2 * half)) fail_msg("road %d, %d: too wide, %g", road, n, z[1] - z[0]);
            kd_crg_range(crg, (double[]){cx, cx}, (double[]){cy, cy}, z);
            kd_crg_at(crg, cx, cy, at, NULL);
            assert_true(z[0] == at[0] && z[1] == at[0]);
        }
        double z[2];
        kd_crg_range(crg, (double[]){-INFINITY, INFINITY}, (double[]){0, 0}, z);
        assert_true(z[0] == 0 && fabs(z[1] - 0.07) < 1e-15);
        kd_crg_destroy(crg);
    }
}

static void refused(const char *end, const char *format, const char *rest, const char *sentence)
{
    kd_crg *crg = NULL;
    char    message[400];
    if (parse(end, format, rest, &crg, message, sizeof message) != KD_ERR_FILE) fail_msg("accepted: %s", sentence);
    assert_string_equal(message, sentence);
    assert_null(crg);
}

// The head says each thing once, and where sections without a place of their own are; data are whole.
static void refuses_doubtful(void **state)
{
    static const char curve[] = "D:reference line phi,rad\nD:long section 1,m\nD:long section 2,m\n$$$$\n";
    static const char two[] = "D:long section 1,m\nD:long section 2,m\n$$$$\n";
    char              rest[600];
    (void)state;
    for (int i = 0; i < 2; i++) {
        kd_crg *crg = NULL;
        char    text[900], message[300] = "";
        snprintf(text, sizeof text,
                 "$ROAD_CRG\nREFERENCE_LINE_END_U = 2\nREFERENCE_LINE_INCREMENT = 2\nLONG_SECTION_V_%s = 1\n"
                 "$KD_DEFINITION\n#:LRFI\n%s 0.1000000 0.2000000\n 0.3000000 0.4000000\n",
                 i ? "RIGHT" : "LEFT", two);
        assert_int_equal(kd_crg_parse("a.crg", text, strlen(text), &crg, message, sizeof message), KD_ERR_FILE);
        assert_string_equal(message,
                            "a.crg:9: sections need LONG_SECTION_V_RIGHT, and LONG_SECTION_V_LEFT or _INCREMENT");
    }
    refused("2\nREFERENCE_LINE_END_U = 4", "LRFI", two, "a.crg:6: this is given twice: 'reference_line_end_u'");
    snprintf(rest, sizeof rest, "D:reference line slope,m/m\nD:reference line slope,m/m\n%s", two);
    refused("2", "LRFI", rest, "a.crg:12: this channel is there twice: 'reference line slope'");
    refused("2", "LRFI", "D:long section at v = left,m\n", "a.crg:11: a number is expected, not ' left,m'");
    // the last number has lost its end
    snprintf(rest, sizeof rest, "%s 0.1000000 0.2000000\n 0.3000000 0.40", two);
    refused("2", "LRFI", rest, "a.crg:15: the data end too early");
    // headings in degrees
    for (int i = 0; i < 2; i++) {
        snprintf(rest, sizeof rest,
                 "%s 0.0000000 0.2000000 0.2000000\n%10.7f 0.2000000 0.2000000\n%10.6f 0.2000000 0.2000000\n", curve,
                 i ? 30.0 : 0.1, 45.0);
        char sentence[200];
        snprintf(sentence, sizeof sentence,
                 "a.crg:%d: the heading is, or changes at once, by more than a turn: is it in degrees?", i ? 16 : 17);
        refused("4", "LRFI", rest, sentence);
    }
}

// Headings may go on beyond a turn, step by step, and from a first one that is within a turn.
static void headings_beyond_a_turn(void **state)
{
    char    rest[900] = "D:reference line phi,rad\nD:long section 1,m\nD:long section 2,m\n$$$$\n", message[300];
    kd_crg *crg = NULL;
    double  x, y, X = 0, Y = 0;
    (void)state;
    for (int i = 0; i <= 9; i++) {
        const size_t n = strlen(rest);
        snprintf(rest + n, sizeof rest - n, "%10.7f 0.1000000 0.1000000\n", 0.9 * i);
        if (i > 0) X += 2 * cos(0.9 * i), Y += 2 * sin(0.9 * i);
    }
    if (parse("18", "LRFI", rest, &crg, message, sizeof message) != KD_OK) fail_msg("%s", message);
    kd_crg_place(crg, 18, 0, &x, &y);
    assert_true(hypot(x - X, y - Y) < 1e-12);
    kd_crg_destroy(crg);
    refused("2\nREFERENCE_LINE_START_PHI = 30", "LRFI",
            "D:reference line phi,rad\nD:long section 1,m\nD:long section 2,m\n$$$$\n"
            "30.0000000 0.1000000 0.1000000\n30.0000000 0.1000000 0.1000000\n",
            "a.crg:17: the heading is, or changes at once, by more than a turn: is it in degrees?");
}

// Binary numbers of 64 bits that are read as 32 bits leave a rest, which is not what fills a record of 80 bytes up; that is passed over.
static void rest_of_binary(void **state)
{
    static const char head[] =
        "$ROAD_CRG\nREFERENCE_LINE_END_U = 2\nREFERENCE_LINE_INCREMENT = 2\nLONG_SECTION_V_RIGHT = -1\n"
        "LONG_SECTION_V_LEFT = 1\n$KD_DEFINITION\n#:KRBI\nD:long section 1,m\nD:long section 2,m\n$$$$\n";
    char text[1000] = {0}, message[300] = "";
    (void)state;
    memcpy(text, head, sizeof head);
    for (size_t rest = 0; rest <= 80; rest++) {
        kd_crg         *crg = NULL;
        const kd_status status =
            kd_crg_parse("a.crg", text, sizeof head - 1 + 16 + rest, &crg, message, sizeof message);
        if ((status == KD_OK) != (rest == 0 || rest == 64)) fail_msg("%zu bytes: %s", rest, message);
        kd_crg_destroy(crg);
    }
}

// Each wrong file is refused in one sentence.
static void refuses(void **state)
{
    (void)state;
    refused("6", "XYZ", "", "a.crg:10: the format must be LRFI, LDFI, KRBI or KDBI, not 'xyz'");
    refused("five", "LRFI", "", "a.crg:5: a number is expected, not ' five'");
    refused("6", "LRFI", "D:long section 1,m\n", "a.crg:11: there is no line $$$$ before the data");
    refused("6", "LRFI", "D:reference line phi,deg\n", "a.crg:11: headings must be in rad, not in 'deg'");
    refused("6", "LRFI", "D:long section 1,mm\n", "a.crg:11: elevations must be in m, not in 'mm'");
    refused("6", "LRFI", "D:reference line slope,%\n", "a.crg:11: slopes must be in m/m, not in '%'");
    refused("6", "LRFI", "D:reference line banking, deg\n", "a.crg:11: banking must be in m/m, not in 'deg'");
    refused("6", "LRFI", "$ROAD_CRG_FILE\nother.crg\n",
            "a.crg:11: the data are in another file, which $ROAD_CRG_FILE names: give that one");
    refused("6", "LRFI",
            "D:long section 1,m\nD:long section 2,m\n$ROAD_CRG\nREFERENCE_LINE_START_S = 0\nREFERENCE_LINE_END_S = "
            "0.1\n$$$$\n",
            "a.crg:16: slopes at start and end differ, but there is no channel of slopes");
    refused("6", "LRFI", "D:temperature,K\n", "a.crg:11: this channel is not known: 'temperature,k'");
    refused("5", "LRFI", curved,
            "a.crg:15: REFERENCE_LINE_END_U must lie a whole number of increments behind the start");
    refused("8", "LRFI", curved, "a.crg:19: the data end too early");
    refused("6", "LRFI", "D:long section 1,m\n$$$$\n", "a.crg:12: a road needs two long sections");
    refused("6", "KRBI", "D:long section 1,m\nD:long section 2,m\n$$$$\nab\001d", "a.crg:13: the data end too early");
    refused("6", "KRBI", "D:long section 1,m\nD:long section 2,m\n$$$$\n 0.0000000 0.0000000\n",
            "a.crg:13: the data are text, but the format is one of binary numbers");
    refused("2", "LRFI",
            "D:long section 1,m\nD:long section 2,m\n$$$$\n 0.0000000 0.0000000\n 0.0000000 0.0000000\n\n 0.1000000 "
            "0.0000000\n",
            "a.crg:17: the data have more rows than REFERENCE_LINE_END_U tells");
    refused("6\nLONG_SECTION_V_INCREMENT = 1", "LRFI", "D:long section 1,m\nD:long section 2,m\n$$$$\n",
            "a.crg:14: LONG_SECTION_V_INCREMENT leads from V_RIGHT not to V_LEFT, but to '0 instead of 1'");
    refused("2", "LRFI", "D:long section 1,m\nD:long section 2,m\n$$$$\n 0.0000000 0.0000000\n 0.00000x0 0.0000000\n",
            "a.crg:15: a number is expected, not '0.00000x0'");
    refused("2", "LRFI", "D:long section 1,m\nD:long section 2,m\n$$$$\n 0.0000000 0.0000000\n                    \n",
            "a.crg:15: a row has no value at all");
    refused("6", "LRFI",
            "D:reference line phi,rad\nD:long section at v = -5,m\nD:long section at v = 5,m\n$$$$\n"
            "**unused** 0.0000000 0.0000000\n 0.0000000 0.0000000 0.0000000\n 0.8000000 0.0000000 0.0000000\n"
            " 1.6000000 0.0000000 0.0000000\n",
            "a.crg:18: the reference line is curled: its radius is smaller than the road is wide at 'u = 0'");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(published_points), cmocka_unit_test(random_roads),
                                       cmocka_unit_test(slopes),           cmocka_unit_test(constants),
                                       cmocka_unit_test(unknown_names),    cmocka_unit_test(ranges),
                                       cmocka_unit_test(refuses_doubtful), cmocka_unit_test(headings_beyond_a_turn),
                                       cmocka_unit_test(rest_of_binary),   cmocka_unit_test(refuses)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
