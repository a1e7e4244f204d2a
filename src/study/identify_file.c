// identify_file.c: `identify` of study files: channels, and the columns of measurements that they are compared with.
#include <math.h>

#include "core/load.h"
#include "core/text.h"
#include "modelfile/csv.h"
#include "modelfile/paths.h"
#include "study/nodes.h"

// The columns of a file that the study names
static bool read_data(kd_study_reader *r, const kd_node *map, kd_csv_table *table)
{
    const kd_node *node = kd_node_find(map, "data");
    char           folder[KD_PATH_LENGTH], path[KD_PATH_LENGTH], why[600], *text = NULL;
    size_t         length;
    if (!node || node->type != KD_NODE_SCALAR || !node->text[0]) {
        kd_node_say(&r->findings, node ? node : map, "identify needs data: the file of the measurements");
        return false;
    }
    // beside the file of the study
    if (kd_folder_of(r->path, folder) < 0) folder[0] = '\0';
    kd_text(path, sizeof path, "%s%s%s", node->text[0] == '/' ? "" : folder, node->text[0] == '/' ? "" : "/",
            node->text);
    r->study->data_path = kd_nodes_copy(r, path);
    kd_status status = kd_load_file(path, KD_CSV_MAX_BYTES, &text, &length, why, sizeof why);
    if (status >= 0) status = kd_csv_parse(path, text, length, false, table, why, sizeof why);
    kd_free(text);
    if (status < 0) kd_node_say(&r->findings, node, why);
    return status >= 0;
}

static int find_column(kd_study_reader *r, const kd_node *node, const kd_csv_table *table, const char *word)
{
    char      why[600];
    const int column = kd_csv_column(r->study->data_path, table, word, why, sizeof why);
    if (column < 0) kd_node_say(&r->findings, node, why);
    return column;
}

// One channel: its column and, if it is known, the deviation of its noise
static void read_fit(kd_study_reader *r, const kd_node *key, const kd_node *node, const kd_csv_table *table)
{
    static const char *const KEYS[] = {"column", "sigma"};
    kd_study                *s = r->study;
    const char              *column = NULL;
    double                   sigma = NAN;
    if (node->type == KD_NODE_SCALAR) {
        column = node->text;
    } else if (KD_NODE_IS_MAP(&r->findings, node, KEYS)) {
        kd_nodes_word(r, node, "column", &column);
        kd_node_number_of(&r->findings, node, "sigma", "", &sigma);
        if (!(sigma > 0) && !isnan(sigma)) kd_node_say(&r->findings, node, "a deviation is above 0");
    }
    if (!column || s->nfits == KD_IDENTIFY_CHANNELS) {
        kd_node_say(&r->findings, node,
                    column ? "there are too many channels" : "a column of the data is expected here");
        return;
    }
    // without deviations channels of different units could not be weighed
    s->no_sigma = s->no_sigma || isnan(sigma);
    s->fit[s->nfits].channel = kd_nodes_copy(r, key->text);
    s->fit[s->nfits].column = find_column(r, node, table, column);
    s->fit[s->nfits++].sigma = isnan(sigma) ? 1 : sigma;
}

// One row, the middle of the ranges: what --row makes
static void set_middle(kd_study *s)
{
    int *levels = kd_cut_int(&s->arena, s->nparameters + 1);
    for (int i = 0; levels && i < s->nparameters; i++) levels[i] = 1;
    s->design.kind = KD_DESIGN_GRID;
    s->design.levels = levels;
}

void kd_study_read_identify(kd_study_reader *r, const kd_node *node)
{
    static const char *const KEYS[] = {"data", "time", "fit"};
    kd_study                *s = r->study;
    kd_csv_table             table = {0};
    const char              *time = "1";
    if (!KD_NODE_IS_MAP(&r->findings, node, KEYS)) return;
    const kd_node *fits = kd_node_find(node, "fit");
    if (!s->model) kd_node_say(&r->findings, node, "identify needs a model");
    // a search needs ranges and a middle to start from
    for (int i = 0; i < s->nparameters; i++)
        if (s->distribution[i].kind != KD_UNIFORM)
            kd_node_say(&r->findings, node, "parameters that are identified have a range");
    if (s->nparameters > KD_IDENTIFY_MOST) kd_node_say(&r->findings, node, "there are too many parameters");
    if (!fits || fits->type != KD_NODE_MAP || fits->n == 0) {
        kd_node_say(&r->findings, node, "identify needs fit: channels with the columns that they are compared with");
        return;
    }
    set_middle(s);
    // columns by their names, as the head of the data has them
    if (!read_data(r, node, &table)) return;
    kd_nodes_word(r, node, "time", &time);
    s->time_column = find_column(r, node, &table, time);
    for (int i = 0; i < fits->n; i++) read_fit(r, &fits->item[2 * i], &fits->item[2 * i + 1], &table);
    if (s->no_sigma && fits->n > 1)
        kd_node_say(&r->findings, fits, "several channels need the deviation of their noise: {column: .., sigma: ..}");
    kd_csv_release(&table);
}
