// crg.c: OpenCRG files. A road is a grid z_ij at u_i = u_0 + i du along a reference line and v_j across it, bilinear between:
//
//     P_i = P_i-1 + du (cos phi_i, sin phi_i),   h_i = h_i-1 + du s_i,   z = h(u) + b(u) v + z(u, v)
//
// with the channels phi (heading), s (slope) and b (banking), whose first values of phi and s are not used. Cross sections
// stand on the bisectors of the line's corners: at P_i they go along n_i with n_i . N = 1 for the normals N of both pieces
// (OpenCRG's own choice), so that lines of constant v are parallel to the pieces. Inside of piece i with direction T and
// normal N, x = P_i-1 + t du T + v ((1 - t) n_i-1 + t n_i) is solved by
//
//     v = (x - P_i-1) . N,   t = ((x - P_i-1) . T - v a)/(du + v (b - a)),   a = n_i-1 . T,  b = n_i . T
//
// Values that are missing take the next one towards the middle of their row. Beyond ends and edges the road goes on as it ends.
#include "vehicle/crg.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

#include "core/load.h"
#include "core/memory.h"
#include "core/pi.h"
#include "core/read_number.h"
#include "core/text.h"

enum {
    MOST_CHANNELS = 4096,
    MOST_LINE = 300,
    MOST_NAME = 60,
    MOST_POINTS = 1 << 24,
    MOST_PIECES = 64,
    RECORD = 80, // bytes of binary numbers, of which files are filled up to a multiple
    CELL = 10,
    CELLS_PER_LINE = 8
};

typedef struct corner {  // of the reference line
    double x, y, nx, ny; // P, n
    double height, bank;
} corner;

struct kd_crg {
    kd_arena arena;
    int      nu, nv, nmissing;
    double   start, increment; // u
    double  *v, *z;            // (nv), (nu nv)
    corner  *corner;           // (nu)
    bool     straight, modified;
    char     unknown[MOST_NAME]; // first name in $ROAD_CRG that is passed over
    int      stride;             // of the coarse search
    double   stretch;            // largest gradient of u
    double (*range)[2];          // (nu) least and largest elevation of a cross section
    double low, high;
};

static const double slack = 1e-9; // of a piece: rounding at the ends of the road

typedef enum channel { UNKNOWN, PHI, BANKING, SLOPE, SECTION } channel;

typedef struct reader {
    const char *path, *at, *end, *data;
    int         line;
    char       *message;
    size_t      size;
    double      start_u, end_u, increment, start_x, start_y, start_phi, start_z, right, left, v_increment;
    double      end_x, end_y, end_z, slope[2], bank[2]; // constants at start and end, for lines without such a channel
    bool        binary, wide, has_end, has_step, has_phi, has_end_x, has_end_y, has_end_z, has_slope[2], has_bank[2];
    bool        has_left, has_right;
    unsigned    seen;     // parameters of the head, bit by bit
    bool        modified; // by blocks of modifiers, which are not applied
    char        unknown[MOST_NAME];
    int         nchannels, nsections;
    channel     kind[MOST_CHANNELS];
    double      v[MOST_CHANNELS]; // of sections; NaN: by their number
} reader;

static kd_status refuse_road(reader *r, const char *what, const char *word)
{
    char   shown[60];
    size_t n = 0;
    for (; word[n] && n < sizeof shown - 1; n++) shown[n] = isprint((unsigned char)word[n]) ? word[n] : '?';
    shown[n] = '\0';
    kd_text(r->message, r->size, "%s:%d: %s%s%s%s", r->path, r->line, what, n > 0 ? " '" : "", shown, n > 0 ? "'" : "");
    return KD_ERR_FILE;
}

// ---- header ---------------------------------------------------------------------------------------------------------

// The next line in small letters, without comment and blanks behind it; false: there is none
static bool next_line(reader *r, char line[MOST_LINE])
{
    if (r->at >= r->end) return false;
    const char *stop = memchr(r->at, '\n', (size_t)(r->end - r->at)), *to = stop ? stop : r->end;
    size_t      n = 0;
    for (const char *c = r->at; c < to && *c != '!' && n < MOST_LINE - 1; c++)
        line[n++] = *c ? (char)tolower((unsigned char)*c) : '?';
    while (n > 0 && isspace((unsigned char)line[n - 1])) n--;
    line[n] = '\0';
    r->at = stop ? stop + 1 : r->end;
    r->line++;
    return true;
}

// Names of $ROAD_CRG that are of no use here: the end's heading follows, the place on earth does not matter
static bool is_passed_over(const char *name, size_t n)
{
    static const char *const tail[] = {"_end_phi", "_lon", "_lat", "_alt"};
    for (size_t i = 0; i < sizeof tail / sizeof *tail; i++) {
        const size_t length = strlen(tail[i]);
        if (n >= length && strncmp(name + n - length, tail[i], length) == 0) return true;
    }
    return false;
}

static kd_status take_parameter(reader *r, const char *line)
{
    const struct {
        const char *name;
        double     *value;
        bool       *given;
    } known[] = {
        {"reference_line_start_u", &r->start_u, NULL},
        {"reference_line_end_u", &r->end_u, &r->has_end},
        {"reference_line_increment", &r->increment, NULL},
        {"reference_line_start_x", &r->start_x, NULL},
        {"reference_line_start_y", &r->start_y, NULL},
        {"reference_line_start_phi", &r->start_phi, &r->has_phi},
        {"reference_line_start_z", &r->start_z, NULL},
        {"reference_line_end_x", &r->end_x, &r->has_end_x},
        {"reference_line_end_y", &r->end_y, &r->has_end_y},
        {"reference_line_end_z", &r->end_z, &r->has_end_z},
        {"reference_line_start_s", &r->slope[0], &r->has_slope[0]},
        {"reference_line_end_s", &r->slope[1], &r->has_slope[1]},
        {"reference_line_start_b", &r->bank[0], &r->has_bank[0]},
        {"reference_line_end_b", &r->bank[1], &r->has_bank[1]},
        {"long_section_v_right", &r->right, &r->has_right},
        {"long_section_v_left", &r->left, &r->has_left},
        {"long_section_v_increment", &r->v_increment, &r->has_step},
    };
    const char *equals = strchr(line, '=');
    if (!equals) return KD_OK;
    // keys that nobody reads here are those of other programs
    size_t n = (size_t)(equals - line);
    while (n > 0 && isspace((unsigned char)line[n - 1])) n--;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strlen(known[i].name) != n || strncmp(known[i].name, line, n) != 0) continue;
        char *end;
        *known[i].value = kd_read_number(equals + 1, &end);
        if (end == equals + 1 || *end || !isfinite(*known[i].value))
            return refuse_road(r, "a number is expected, not", equals + 1);
        if (r->seen >> i & 1) return refuse_road(r, "this is given twice:", known[i].name);
        r->seen |= 1u << i;
        if (known[i].given) *known[i].given = true;
        return KD_OK;
    }
    // zeros (offsets of the line) change nothing
    if (!*r->unknown && !is_passed_over(line, n) && kd_read_number(equals + 1, NULL) != 0)
        kd_text(r->unknown, sizeof r->unknown, "%.*s", (int)n, line);
    return KD_OK;
}

static kd_status take_channel(reader *r, const char *line)
{
    static const struct {
        const char *word;
        channel     kind;
        const char *unit, *complaint;
    } words[] = {{"reference line phi", PHI, "rad", "headings must be in rad, not in"},
                 {"reference line banking", BANKING, "m/m", "banking must be in m/m, not in"},
                 {"reference line slope", SLOPE, "m/m", "slopes must be in m/m, not in"},
                 {"long section", SECTION, "m", "elevations must be in m, not in"}};
    const char *unit = strchr(line, ',');
    if (r->nchannels == MOST_CHANNELS) return refuse_road(r, "the file has too many channels", "");
    r->kind[r->nchannels] = UNKNOWN;
    while (unit && isspace((unsigned char)unit[1])) unit++;
    // units are the standard's; others would be read wrongly in silence
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strncmp(line + 2, words[i].word, strlen(words[i].word)) != 0) continue;
        for (int k = 0; k < r->nchannels && words[i].kind != SECTION; k++)
            if (r->kind[k] == words[i].kind) return refuse_road(r, "this channel is there twice:", words[i].word);
        r->kind[r->nchannels] = words[i].kind;
        const size_t n = strlen(words[i].unit);
        if (unit && unit[1] && !(strncmp(unit + 1, words[i].unit, n) == 0 && (!unit[1 + n] || unit[1 + n] == ',')))
            return refuse_road(r, words[i].complaint, unit + 1);
    }
    if (r->kind[r->nchannels] == UNKNOWN) return refuse_road(r, "this channel is not known:", line + 2);
    if (r->kind[r->nchannels] == SECTION) {
        char *at = strstr(line, "at v ="), *end = at;
        r->v[r->nsections++] = at ? kd_read_number(at + 6, &end) : NAN;
        if (at && end == at + 6) return refuse_road(r, "a number is expected, not", at + 6);
    }
    r->nchannels++;
    return KD_OK;
}

static kd_status take_format(reader *r, const char *line)
{
    const char *word = line + 2;
    r->binary = strcmp(word, "krbi") == 0 || strcmp(word, "kdbi") == 0;
    r->wide = strcmp(word, "kdbi") == 0 || strcmp(word, "ldfi") == 0;
    if (r->binary || strcmp(word, "lrfi") == 0 || strcmp(word, "ldfi") == 0) return KD_OK;
    return refuse_road(r, "the format must be LRFI, LDFI, KRBI or KDBI, not", word);
}

static kd_status read_header(reader *r)
{
    char      line[MOST_LINE], block[MOST_LINE] = "";
    kd_status status = KD_OK;
    while (status == KD_OK && next_line(r, line)) {
        if (strncmp(line, "$$$$", 4) == 0) return KD_OK;
        if (line[0] == '$') {
            memcpy(block, line, sizeof block);
            if (strncmp(block, "$road_crg_file", 14) == 0)
                return refuse_road(r, "the data are in another file, which $ROAD_CRG_FILE names: give that one", "");
            continue;
        }
        if (line[0] == '*') continue;
        if (strncmp(block, "$road_crg", 9) == 0) {
            // modifiers and options are not applied
            if (strncmp(block, "$road_crg_mods", 14) == 0 && strchr(line, '=')) r->modified = true;
            if (strncmp(block, "$road_crg_", 10) == 0) continue;
            status = take_parameter(r, line);
        } else if (strncmp(block, "$kd_definition", 14) == 0) {
            if (strncmp(line, "#:", 2) == 0) status = take_format(r, line);
            if (strncmp(line, "d:", 2) == 0) status = take_channel(r, line);
        }
    }
    return status == KD_OK ? refuse_road(r, "there is no line $$$$ before the data", "") : status;
}

// ---- data -----------------------------------------------------------------------------------------------------------

static double big_endian(const char *at, bool wide)
{
    unsigned long long bits = 0;
    for (int i = 0; i < (wide ? 8 : 4); i++) bits = bits << 8 | (unsigned char)at[i];
    if (wide) {
        double x;
        memcpy(&x, &bits, sizeof x);
        return x;
    }
    const unsigned low = (unsigned)bits;
    float          x;
    memcpy(&x, &low, sizeof x);
    return (double)x;
}

// A cell of ten (LDFI: twenty) characters; NaN: there is none (stars, blanks)
static kd_status cell_of(reader *r, const char *at, size_t width, double *value)
{
    char   text[24], *end;
    size_t n = 0;
    for (size_t i = 0; i < width; i++)
        if (!isspace((unsigned char)at[i]) && at[i]) text[n++] = at[i];
    text[n] = '\0';
    *value = NAN;
    if (n == 0 || text[0] == '*' || strncmp(text, "nan", 3) == 0 || strncmp(text, "NaN", 3) == 0) return KD_OK;
    *value = kd_read_number(text, &end);
    return *end || !isfinite(*value) ? refuse_road(r, "a number is expected, not", text) : KD_OK;
}

// One row of all channels
static kd_status read_row(reader *r, double *row)
{
    if (r->binary) {
        const size_t width = r->wide ? 8 : 4;
        if ((size_t)(r->end - r->at) < width * (size_t)r->nchannels)
            return refuse_road(r, "the data end too early", "");
        for (int i = 0; i < r->nchannels; i++) row[i] = big_endian(r->at + (size_t)i * width, r->wide);
        r->at += width * (size_t)r->nchannels;
        for (int i = 0; i < r->nchannels; i++)
            if (isinf(row[i])) return refuse_road(r, "a value is infinite", "");
        return KD_OK;
    }
    // text: cells of fixed width, as many as fit into a line of 80
    const size_t width = r->wide ? 2 * CELL : CELL;
    const int    per_line = r->wide ? CELLS_PER_LINE / 2 : CELLS_PER_LINE;
    for (int i = 0; i < r->nchannels;) {
        if (r->at >= r->end) return refuse_road(r, "the data end too early", "");
        const char *stop = memchr(r->at, '\n', (size_t)(r->end - r->at)), *to = stop ? stop : r->end;
        r->line++;
        for (int k = 0; k < per_line && i < r->nchannels; k++, i++) {
            const char  *cell = r->at + (size_t)k * width;
            const size_t left = cell < to ? (size_t)(to - cell) : 0;
            // the end of a file inside of a cell: cut off, and the number is another one
            if (!stop && left < width) return refuse_road(r, "the data end too early", "");
            kd_status status = cell_of(r, cell < to ? cell : to, left < width ? left : width, &row[i]);
            if (status < 0) return status;
        }
        r->at = stop ? stop + 1 : r->end;
    }
    return KD_OK;
}

// Missing values of a row, from the middle outwards
static kd_status fill_row(reader *r, kd_crg *c, double *z)
{
    int middle = -1;
    for (int j = 0; j < c->nv; j++)
        if (!isnan(z[j]) && (middle < 0 || fabs(c->v[j]) < fabs(c->v[middle]))) middle = j;
    if (middle < 0) return refuse_road(r, "a row has no value at all", "");
    for (int j = middle + 1; j < c->nv; j++)
        if (isnan(z[j])) z[j] = z[j - 1], c->nmissing++;
    for (int j = middle - 1; j >= 0; j--)
        if (isnan(z[j])) z[j] = z[j + 1], c->nmissing++;
    return KD_OK;
}

static bool has_channel(const reader *r, channel kind)
{
    for (int k = 0; k < r->nchannels; k++)
        if (r->kind[k] == kind) return true;
    return false;
}

// Heading, slope and banking of lines that have no channel for them are constants of the head
static kd_status take_constants(reader *r, const kd_crg *c)
{
    const struct {
        channel       kind;
        const double *ends;
        const bool   *given;
        const char   *complaint;
    } pair[] = {
        {SLOPE, r->slope, r->has_slope, "slopes at start and end differ, but there is no channel of slopes"},
        {BANKING, r->bank, r->has_bank, "banking at start and end differs, but there is no channel of banking"}};
    for (int i = 0; i < 2; i++)
        if (!has_channel(r, pair[i].kind) && pair[i].given[0] && pair[i].given[1] && pair[i].ends[0] != pair[i].ends[1])
            return refuse_road(r, pair[i].complaint, "");
    // one end stands for both; without any the two heights, or places, tell slope and heading
    for (int i = 0; i < 2; i++) {
        if (!r->has_slope[i] && r->has_slope[1 - i]) r->slope[i] = r->slope[1 - i];
        if (!r->has_bank[i] && r->has_bank[1 - i]) r->bank[i] = r->bank[1 - i];
    }
    if (!r->has_slope[0] && !r->has_slope[1] && r->has_end_z)
        r->slope[0] = (r->end_z - r->start_z) / ((c->nu - 1) * c->increment);
    if (!r->has_phi && !has_channel(r, PHI) && r->has_end_x && r->has_end_y)
        r->start_phi = atan2(r->end_y - r->start_y, r->end_x - r->start_x);
    return KD_OK;
}

// Numbers of 32 or 64 bits are not all letters, digits and blanks
static bool is_text(const reader *r)
{
    const char *at = r->at;
    while (at < r->end && (isprint((unsigned char)*at) || isspace((unsigned char)*at))) at++;
    return at == r->end && at > r->at;
}

// Behind the last row: blanks, comments, what fills up a record of 80 bytes; but no further row
static kd_status check_rest(reader *r)
{
    static const char sentence[] = "the data have more rows than REFERENCE_LINE_END_U tells";
    if (r->binary) {
        const char *at = r->at;
        while (at < r->end && isspace((unsigned char)*at)) at++;
        const bool fills = r->end - r->at < RECORD && (r->end - r->data) % RECORD == 0;
        return at == r->end || fills ? KD_OK : refuse_road(r, sentence, "");
    }
    for (; r->at < r->end && *r->at; r->at++) {
        const char *stop = memchr(r->at, '\n', (size_t)(r->end - r->at)), *to = stop ? stop : r->end;
        while (r->at < to && isspace((unsigned char)*r->at)) r->at++;
        r->line++;
        if (r->at < to && (isdigit((unsigned char)*r->at) || *r->at == '-' || *r->at == '.'))
            return refuse_road(r, sentence, "");
        r->at = to;
        if (to == r->end) break;
    }
    return KD_OK;
}

static kd_status read_data(reader *r, kd_crg *c)
{
    const bool sloped = has_channel(r, SLOPE), banked = has_channel(r, BANKING);
    double     row[MOST_CHANNELS], x = r->start_x, y = r->start_y, height = r->start_z, phi = r->start_phi;
    kd_status  status = KD_OK;
    c->straight = true;
    r->data = r->at;
    if (r->binary && is_text(r))
        return refuse_road(r, "the data are text, but the format is one of binary numbers", "");
    for (int i = 0; i < c->nu && status == KD_OK; i++) {
        double slope = sloped ? 0.0 : r->slope[0], bank = banked ? 0.0 : r->bank[0], heading = phi;
        int    section = 0;
        status = read_row(r, row);
        for (int k = 0; k < r->nchannels && status == KD_OK; k++) {
            if (r->kind[k] == PHI && i > 0) heading = row[k];
            if (r->kind[k] == SLOPE && i > 0) slope = row[k];
            if (r->kind[k] == BANKING) bank = row[k];
            if (r->kind[k] == SECTION) c->z[(size_t)i * (size_t)c->nv + (size_t)section++] = row[k];
        }
        if (status != KD_OK) break;
        if (isnan(heading) || isnan(slope) || isnan(bank))
            return refuse_road(r, "the reference line has a gap here", "");
        if (fabs(i > 1 ? heading - phi : heading) > 2.0 * KD_PI * (1.0 + slack) && has_channel(r, PHI) && i > 0)
            return refuse_road(r, "the heading is, or changes at once, by more than a turn: is it in degrees?", "");
        // a step along the heading
        if (i > 0) x += c->increment * cos(heading), y += c->increment * sin(heading), height += c->increment * slope;
        if (i > 1 && heading != phi) c->straight = false;
        phi = heading;
        c->corner[i] = (corner){x, y, 0.0, 0.0, height, bank};
        status = fill_row(r, c, c->z + (size_t)i * (size_t)c->nv);
    }
    return status == KD_OK ? check_rest(r) : status;
}

// ---- geometry -------------------------------------------------------------------------------------------------------

static void direction(const kd_crg *c, int piece, double *tx, double *ty)
{
    const corner *p = &c->corner[piece];
    *tx = (p[1].x - p[0].x) / c->increment;
    *ty = (p[1].y - p[0].y) / c->increment;
}

// n_i = m/|m|^2, m the mean of both normals
static kd_status make_normals(reader *r, kd_crg *c)
{
    for (int i = 0; i < c->nu; i++) {
        double ax, ay, bx, by;
        direction(c, i > 0 ? i - 1 : 0, &ax, &ay);
        direction(c, i < c->nu - 1 ? i : c->nu - 2, &bx, &by);
        const double mx = -0.5 * (ay + by), my = 0.5 * (ax + bx), square = mx * mx + my * my;
        if (!(square > 0.1)) return refuse_road(r, "the reference line turns back on itself", "");
        c->corner[i].nx = mx / square, c->corner[i].ny = my / square;
    }
    // cross sections must not meet on the road
    for (int i = 0; i + 1 < c->nu; i++) {
        double        tx, ty;
        const corner *p = &c->corner[i];
        direction(c, i, &tx, &ty);
        const double turn = (p[1].nx - p[0].nx) * tx + (p[1].ny - p[0].ny) * ty, a = p[0].nx * tx + p[0].ny * ty;
        // length of the piece at an edge is all that it is at least
        const double least = c->increment + fmin(c->v[0] * turn, c->v[c->nv - 1] * turn);
        c->stretch = fmax(c->stretch, c->increment * (1.0 + fabs(a) + fabs(turn)) / fmin(least, c->increment));
        if (!(c->increment + c->v[0] * turn > 0.0 && c->increment + c->v[c->nv - 1] * turn > 0.0)) {
            char word[40];
            kd_text(word, sizeof word, "u = %.6g", c->start + i * c->increment);
            return refuse_road(r, "the reference line is curled: its radius is smaller than the road is wide at", word);
        }
    }
    return KD_OK;
}

static kd_status place_sections(reader *r, kd_crg *c)
{
    if (isnan(r->v[0]) && !(r->has_right && (r->has_left || r->has_step)))
        return refuse_road(r, "sections need LONG_SECTION_V_RIGHT, and LONG_SECTION_V_LEFT or _INCREMENT", "");
    for (int j = 0; j < c->nv; j++) {
        const double step = r->has_step ? r->v_increment : c->nv > 1 ? (r->left - r->right) / (c->nv - 1) : 0.0;
        c->v[j] = isnan(r->v[j]) ? r->right + j * step : r->v[j];
        if (j > 0 && !(c->v[j] > c->v[j - 1])) return refuse_road(r, "long sections must go from right to left", "");
    }
    // an increment and both edges say the same twice
    if (r->has_step && r->has_left && isnan(r->v[0]) && fabs(c->v[c->nv - 1] - r->left) > 1e-3 * (c->v[1] - c->v[0])) {
        char word[40];
        kd_text(word, sizeof word, "%.6g instead of %.6g", c->v[c->nv - 1], r->left);
        return refuse_road(r, "LONG_SECTION_V_INCREMENT leads from V_RIGHT not to V_LEFT, but to", word);
    }
    return KD_OK;
}

static kd_status make(reader *r, kd_crg *c)
{
    const double points = (r->end_u - r->start_u) / r->increment;
    if (!(r->increment > 0.0)) return refuse_road(r, "REFERENCE_LINE_INCREMENT must be given and positive", "");
    if (r->nsections < 2) return refuse_road(r, "a road needs two long sections", "");
    if (!r->has_end || !(points >= 1.0) || !(points * r->nsections < MOST_POINTS) ||
        fabs(points - round(points)) > 1e-3)
        return refuse_road(r, "REFERENCE_LINE_END_U must lie a whole number of increments behind the start", "");
    c->nu = (int)round(points) + 1, c->nv = r->nsections;
    c->start = r->start_u, c->increment = r->increment;
    // every stride-th corner is looked at first when a place is searched
    c->stride = (int)ceil(sqrt((double)c->nu));
    c->v = kd_cut_double(&c->arena, c->nv);
    c->z = kd_arena_cut(&c->arena, (size_t)c->nu * (size_t)c->nv, sizeof *c->z);
    c->corner = kd_arena_cut(&c->arena, (size_t)c->nu, sizeof *c->corner);
    c->range = kd_arena_cut(&c->arena, (size_t)c->nu, sizeof *c->range);
    if (c->arena.failed) return KD_ERR_MEMORY;
    c->modified = r->modified;
    memcpy(c->unknown, r->unknown, sizeof c->unknown);
    kd_status status = place_sections(r, c);
    if (status == KD_OK) status = take_constants(r, c);
    if (status == KD_OK) status = read_data(r, c);
    if (status == KD_OK) status = make_normals(r, c);
    // ranges of elevation, of each line and of all
    c->low = INFINITY, c->high = -INFINITY;
    for (int i = 0; i < c->nu && status == KD_OK; i++) {
        c->range[i][0] = INFINITY, c->range[i][1] = -INFINITY;
        for (int j = 0; j < c->nv; j++) {
            const double z =
                c->corner[i].height + c->corner[i].bank * c->v[j] + c->z[(size_t)i * (size_t)c->nv + (size_t)j];
            c->range[i][0] = fmin(c->range[i][0], z), c->range[i][1] = fmax(c->range[i][1], z);
        }
        c->low = fmin(c->low, c->range[i][0]), c->high = fmax(c->high, c->range[i][1]);
    }
    return status;
}

kd_status kd_crg_parse(const char *path, const char *text, size_t length, kd_crg **crg, char *message, size_t size)
{
    *crg = NULL;
    reader   *r = kd_alloc(sizeof *r);
    kd_crg   *c = kd_alloc(sizeof *c);
    kd_status status = KD_ERR_MEMORY;
    if (r && c) {
        r->path = path, r->at = text, r->end = text + length, r->message = message, r->size = size;
        status = read_header(r);
        if (status == KD_OK) status = make(r, c);
    }
    kd_free(r);
    if (status != KD_OK) kd_crg_destroy(c);
    *crg = status == KD_OK ? c : NULL;
    return status;
}

kd_status kd_crg_read(const char *path, kd_crg **crg, char *message, size_t size)
{
    char     *text = NULL;
    size_t    length;
    kd_status status = kd_load_file(path, KD_CRG_MAX_BYTES, &text, &length, message, size);
    *crg = NULL;
    if (status == KD_OK && length > KD_CRG_MAX_BYTES) {
        kd_text(message, size, "%s: a road of more than 256 MB", path);
        status = KD_ERR_FILE;
    }
    if (status == KD_OK) status = kd_crg_parse(path, text, length, crg, message, size);
    kd_free(text);
    return status;
}

void kd_crg_destroy(kd_crg *crg)
{
    if (!crg) return;
    kd_arena_release(&crg->arena);
    kd_free(crg);
}

// ---- evaluation -----------------------------------------------------------------------------------------------------

// Elevation on piece i at t in 0 .. 1 and v, and its derivatives by both
static void on_piece(const kd_crg *c, int i, double t, double v, double out[3])
{
    const double inside = fmin(fmax(v, c->v[0]), c->v[c->nv - 1]);
    int          low = 0, high = c->nv - 1;
    while (high - low > 1) {
        const int middle = (low + high) / 2;
        if (c->v[middle] <= inside)
            low = middle;
        else
            high = middle;
    }
    const double *a = c->z + (size_t)i * (size_t)c->nv + (size_t)low, *b = a + c->nv;
    const corner *p = &c->corner[i];
    const double  width = c->v[low + 1] - c->v[low], s = (inside - c->v[low]) / width;
    // both cross sections: height, banking, grid
    const double h0 = p[0].height + p[0].bank * inside + a[0] + s * (a[1] - a[0]);
    const double h1 = p[1].height + p[1].bank * inside + b[0] + s * (b[1] - b[0]);
    const double s0 = p[0].bank + (a[1] - a[0]) / width, s1 = p[1].bank + (b[1] - b[0]) / width;
    out[0] = h0 + t * (h1 - h0);
    out[1] = h1 - h0;
    out[2] = v == inside ? s0 + t * (s1 - s0) : 0.0; // beyond an edge it is level
}

static int piece_of(const kd_crg *c, double u, double *t)
{
    const double at = fmin(fmax((u - c->start) / c->increment, 0.0), (double)(c->nu - 1));
    int          i = (int)at;
    if (i > c->nu - 2) i = c->nu - 2;
    *t = at - i;
    return i;
}

double kd_crg_elevation(const kd_crg *crg, double u, double v)
{
    double    t, z[3];
    const int i = piece_of(crg, u, &t);
    on_piece(crg, i, t, v, z);
    return z[0];
}

void kd_crg_place(const kd_crg *crg, double u, double v, double *x, double *y)
{
    double        t;
    const int     i = piece_of(crg, u, &t);
    const corner *p = &crg->corner[i];
    *x = p[0].x + t * (p[1].x - p[0].x) + v * (p[0].nx + t * (p[1].nx - p[0].nx));
    *y = p[0].y + t * (p[1].y - p[0].y) + v * (p[0].ny + t * (p[1].ny - p[0].ny));
}

// t and v of a point on a piece, and the derivatives of t
static void inverse(const kd_crg *c, int i, double x, double y, double *t, double *v, double by[2], double T[2])
{
    const corner *p = &c->corner[i];
    direction(c, i, &T[0], &T[1]);
    const double dx = x - p[0].x, dy = y - p[0].y, a = p[0].nx * T[0] + p[0].ny * T[1],
                 b = p[1].nx * T[0] + p[1].ny * T[1];
    *v = dy * T[0] - dx * T[1];
    // beyond an edge the cross sections go on side by side
    const double inside = fmin(fmax(*v, c->v[0]), c->v[c->nv - 1]), length = c->increment + inside * (b - a);
    const double moved = inside == *v ? 1.0 : 0.0;
    *t = (dx * T[0] + dy * T[1] - inside * a) / length;
    for (int k = 0; k < 2; k++) {
        const double across = moved * (k == 0 ? -T[1] : T[0]);
        by[k] = (T[k] - across * a - *t * across * (b - a)) / length;
    }
}

// From a piece step by step to the one whose t is between 0 and 1, or to an end; answers |v| there, infinite outside
static double walk(const kd_crg *c, double x, double y, int *piece)
{
    double t = 0.0, v = 0.0, by[2], T[2];
    // a straight line is found at once, a curved one piece by piece
    for (int steps = 0, before = -1; steps < 2 * c->nu; steps++) {
        inverse(c, *piece, x, y, &t, &v, by, T);
        int next = *piece + (c->straight ? (int)fmin(fmax(floor(t), -1e9), 1e9) : t < 0.0 ? -1 : t >= 1.0 ? 1 : 0);
        next = next < 0 ? 0 : next > c->nu - 2 ? c->nu - 2 : next;
        if (next == *piece || next == before) break;
        before = *piece, *piece = next;
    }
    return t >= -slack && t <= 1.0 + slack ? fabs(v) : INFINITY;
}

// From the nearest of every stride-th corner; where that leads beyond an end, from each of them: the piece that is nearest
static int find_piece(const kd_crg *c, double x, double y)
{
    int    best = 0;
    double least = INFINITY;
    for (int i = 0; i < c->nu && !c->straight; i += c->stride) {
        const double dx = x - c->corner[i].x, dy = y - c->corner[i].y, d = dx * dx + dy * dy;
        if (d < least) least = d, best = i;
    }
    if (best > c->nu - 2) best = c->nu - 2;
    least = walk(c, x, y, &best);
    const bool   beyond = isinf(least);
    const double reach = (1.0 + slack) * fmax(fabs(c->v[0]), fabs(c->v[c->nv - 1]));
    if (beyond) least = reach;
    for (int i = 0; i < c->nu && !c->straight && beyond; i += c->stride) {
        int          other = i < c->nu - 2 ? i : c->nu - 2;
        const double v = walk(c, x, y, &other);
        if (v <= least) least = v, best = other;
    }
    return best;
}

void kd_crg_at(const kd_crg *crg, double x, double y, double z[3], double uv[2])
{
    double    t, v, by[2], T[2], f[3];
    const int i = find_piece(crg, x, y);
    inverse(crg, i, x, y, &t, &v, by, T);
    const double inside = fmin(fmax(t, 0.0), 1.0), along = t == inside ? 1.0 : 0.0; // beyond an end it is level
    on_piece(crg, i, inside, v, f);
    z[0] = f[0];
    z[1] = along * f[1] * by[0] - f[2] * T[1];
    z[2] = along * f[1] * by[1] + f[2] * T[0];
    if (uv) uv[0] = crg->start + (i + t) * crg->increment, uv[1] = v;
}

// Elevations along a line across the road, from v0 to v1: at both ends, and at the sections between
static void across(const kd_crg *c, int i, double t, const double v[2], double z[2])
{
    double f[3];
    for (int k = 0; k < 2; k++) {
        on_piece(c, i, t, v[k], f);
        z[0] = fmin(z[0], f[0]), z[1] = fmax(z[1], f[0]);
    }
    for (int j = 0; j < c->nv; j++) {
        if (c->v[j] <= v[0] || c->v[j] >= v[1]) continue;
        on_piece(c, i, t, c->v[j], f);
        z[0] = fmin(z[0], f[0]), z[1] = fmax(z[1], f[0]);
    }
}

// How far u and v change on a piece while x and y change by hx and hy
static const double *spread(const kd_crg *c, int i, double hx, double hy, double *out)
{
    const corner *p = &c->corner[i];
    double        tx, ty;
    direction(c, i, &tx, &ty);
    const double along = hx * fabs(tx) + hy * fabs(ty), aside = hx * fabs(ty) + hy * fabs(tx);
    const double a = p[0].nx * tx + p[0].ny * ty, turn = p[1].nx * tx + p[1].ny * ty - a;
    const double least = fmin(c->increment, c->increment + fmin(c->v[0] * turn, c->v[c->nv - 1] * turn));
    out[0] = (along + aside * (fabs(a) + fabs(turn))) * c->increment / least, out[1] = aside;
    return out;
}

void kd_crg_range(const kd_crg *crg, const double x[2], const double y[2], double z[2])
{
    const double hx = 0.5 * (x[1] - x[0]), hy = 0.5 * (y[1] - y[0]), reach = hypot(hx, hy);
    double       middle[3], uv[2], first, last;
    z[0] = crg->low, z[1] = crg->high;
    if (!isfinite(hx) || !isfinite(hy)) return;
    kd_crg_at(crg, 0.5 * (x[0] + x[1]), 0.5 * (y[0] + y[1]), middle, uv);
    z[0] = z[1] = middle[0];
    if (!(reach > 0.0)) return;
    // ranges of u and v by the gradients on those pieces that the rectangle can reach
    int i0 = piece_of(crg, uv[0] - reach * crg->stretch, &first),
        i1 = piece_of(crg, uv[0] + reach * crg->stretch, &last);
    double du = reach * crg->stretch, dv = reach;
    if (crg->straight || i1 - i0 < MOST_PIECES) {
        du = dv = 0.0;
        for (int i = i0; i <= (crg->straight ? i0 : i1); i++) {
            const double *g = spread(crg, i, hx, hy, (double[2]){0});
            du = fmax(du, g[0]), dv = fmax(dv, g[1]);
        }
    }
    const double v[2] = {uv[1] - dv, uv[1] + dv};
    // both ends, and the cross sections between: elevations go straight from one to the next
    i0 = piece_of(crg, uv[0] - du, &first), i1 = piece_of(crg, uv[0] + du, &last);
    across(crg, i0, first, v, z);
    across(crg, i1, last, v, z);
    for (int i = i0 + 1; i <= i1; i++) {
        if (i1 - i0 < MOST_PIECES)
            across(crg, i, 0.0, v, z);
        else
            z[0] = fmin(z[0], crg->range[i][0]), z[1] = fmax(z[1], crg->range[i][1]);
    }
}

void kd_crg_ends(const kd_crg *crg, double u[2], double v[2], double z[2])
{
    u[0] = crg->start, u[1] = crg->start + (crg->nu - 1) * crg->increment;
    v[0] = crg->v[0], v[1] = crg->v[crg->nv - 1];
    z[0] = crg->low, z[1] = crg->high;
}

const char *kd_crg_unknown(const kd_crg *crg)
{
    return crg->unknown;
}

bool kd_crg_modified(const kd_crg *crg)
{
    return crg->modified;
}

int kd_crg_missing(const kd_crg *crg)
{
    return crg->nmissing;
}
