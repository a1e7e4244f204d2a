// keep.c: what a study keeps of its runs besides their numbers.
//
//     keep:
//       channels: [cab, body.wheel.pos.z]          # of all rows: FOLDER/channels/row-N.csv (channels.c)
//       reports: [0, 17, best, worst, failed]      # pages of these rows: FOLDER/row-N.html
//
// best, worst: smallest and largest of the first output; of a search the best row of each objective, and the worst of the first; front: all rows
// of the front; failed: rows that failed.
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "study/nodes.h"

static const char *const WORDS[] = {
    [KD_REPORT_BEST] = "best", [KD_REPORT_WORST] = "worst", [KD_REPORT_FRONT] = "front", [KD_REPORT_FAILED] = "failed"};

// ---- the file -------------------------------------------------------------------------------------------------------

static bool is_list(kd_study_reader *r, const kd_node *node)
{
    if (node->type == KD_NODE_LIST && node->n > 0 && node->n <= KD_STUDY_MOST) return true;
    kd_node_say(&r->findings, node, "a list is expected here, of at most 200");
    return false;
}

static void read_channels(kd_study_reader *r, const kd_node *node)
{
    kd_study *s = r->study;
    if (!s->model && r->findings.count == 0) {
        kd_node_say(&r->findings, node, "there are no channels without a model");
        return;
    }
    for (int i = 0; is_list(r, node) && i < node->n; i++) {
        const kd_node *name = &node->item[i];
        if (name->type != KD_NODE_SCALAR || !name->text[0] || strpbrk(name->text, ",\"\n")) {
            kd_node_say(&r->findings, name, "the name of a channel is expected here");
            continue;
        }
        for (int k = 0; k < s->nkept; k++)
            if (strcmp(s->kept[k], name->text) == 0) kd_node_say(&r->findings, name, "this channel is kept already");
        s->kept[s->nkept++] = kd_nodes_copy(r, name->text);
    }
}

static void read_report(kd_study_reader *r, const kd_node *node)
{
    kd_study       *s = r->study;
    kd_study_report report = {.kind = KD_REPORT_ROW};
    char           *end;
    const char     *text = node->type == KD_NODE_SCALAR ? node->text : "";
    // a number of a row
    const long row = strtol(text, &end, 10);
    if (end > text && *end == '\0') {
        if (row < 0 || row >= KD_DESIGN_MOST_ROWS) kd_node_say(&r->findings, node, "rows count from 0 on");
        report.row = (int)row;
        s->report[s->nreports++] = report;
        return;
    }
    // or a word
    int kind = KD_REPORT_BEST;
    while (kind <= KD_REPORT_FAILED && strcmp(WORDS[kind], text) != 0) kind++;
    if (kind > KD_REPORT_FAILED) {
        kd_node_say(&r->findings, node, "the number of a row, best, worst, front or failed is expected here");
        return;
    }
    if (kind == KD_REPORT_FRONT && s->search.nobjectives < 2)
        kd_node_say(&r->findings, node, "only optimise with several objectives has a front");
    report.kind = (kd_report_kind)kind;
    s->report[s->nreports++] = report;
}

void kd_study_read_keep(kd_study_reader *r, const kd_node *node)
{
    static const char *const KEYS[] = {"channels", "reports"};
    if (!KD_NODE_IS_MAP(&r->findings, node, KEYS)) return;
    r->study->keep_line = node->line;
    const kd_node *channels = kd_node_find(node, "channels"), *reports = kd_node_find(node, "reports");
    if (r->study->nfits > 0) kd_node_say(&r->findings, node, "identify has no rows of which something could be kept");
    if (channels) read_channels(r, channels);
    for (int i = 0; reports && is_list(r, reports) && i < reports->n; i++) read_report(r, &reports->item[i]);
}

// ---- rows that get a page -------------------------------------------------------------------------------------------

// Of the first output; sign 1: the smallest, -1: the largest; -1: no row is good
static int extreme_row(const kd_study *s, double sign)
{
    int best = -1;
    for (int row = 0; row < s->design.nrows && s->noutputs > 0; row++) {
        if (!s->cell[row].done || s->cell[row].status < 0) continue;
        const double value = s->values[(size_t)row * (size_t)s->noutputs];
        if (best < 0 || sign * value < sign * s->values[(size_t)best * (size_t)s->noutputs]) best = row;
    }
    return best;
}

static void mark(bool *meant, int row)
{
    if (row >= 0) meant[row] = true;
}

static void mark_best(const kd_study *s, bool *meant)
{
    if (kd_study_objectives(s) == 0) mark(meant, extreme_row(s, 1));
    for (int i = 0; i < kd_study_objectives(s); i++) mark(meant, kd_study_best(s, i));
}

static void mark_front(const kd_study *s, bool *meant)
{
    int       list[KD_STUDY_MOST];
    const int n = kd_study_front(s, list, KD_STUDY_MOST);
    for (int i = 0; i < n && i < KD_STUDY_MOST; i++) mark(meant, list[i]);
}

static void mark_failed(const kd_study *s, bool *meant)
{
    for (int row = 0; row < s->design.nrows; row++)
        if (s->cell[row].done && s->cell[row].status < 0) mark(meant, row);
}

static void mark_meant(const kd_study *s, const kd_study_report *report, bool *meant)
{
    // which rows a report of this kind is about
    switch (report->kind) {
    case KD_REPORT_ROW:
        if (report->row < s->design.nrows && s->cell[report->row].done) mark(meant, report->row);
        break;
    case KD_REPORT_BEST:
        mark_best(s, meant);
        break;
    case KD_REPORT_WORST:
        mark(meant, extreme_row(s, -1));
        break;
    case KD_REPORT_FRONT:
        mark_front(s, meant);
        break;
    case KD_REPORT_FAILED:
        mark_failed(s, meant);
        break;
    }
}

int kd_study_reports(const kd_study *s, int *list, int size)
{
    static const kd_study_report USUAL[] = {{.kind = KD_REPORT_BEST}, {.kind = KD_REPORT_WORST}};
    bool                        *meant = s && s->model ? kd_alloc((size_t)s->design.nrows * sizeof *meant) : NULL;
    if (!meant) return 0;
    // searches tell their best rows unless the file says otherwise
    const int usual = kd_study_objectives(s) > 0 ? 1 : 2, n = s->nreports > 0 ? s->nreports : usual;
    for (int i = 0; i < n; i++) mark_meant(s, s->nreports > 0 ? &s->report[i] : &USUAL[i], meant);
    // rising, each once
    int count = 0;
    for (int row = 0; row < s->design.nrows; row++) {
        if (meant[row] && list && count < size) list[count] = row;
        count += meant[row];
    }
    kd_free(meant);
    return count;
}
