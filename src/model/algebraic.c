// algebraic.c: can the equations of algebraic variables be solved for them, as far as it is seen from who stands where?
//
// Equations and variables are the two sides of a graph, an edge says that a variable stands in an equation, by itself or
// behind outputs of controllers. A matching that gives every equation a variable of its own must exist: without one
// d_w is singular for all numbers. Augmenting paths (Kuhn, breadth first) find the largest one; where an equation gets
// none, those that its search has passed have one variable less than they are (Hall).
#include <string.h>

#include "core/text.h"
#include "model/build.h"

enum { MOST_NAMES = 6 }; // in a message

const char *kd_algebraic_own_name(const kd_algebraic *a)
{
    const char *point = strrchr(a->name, '.');
    return point ? point + 1 : a->name;
}

// Edges sorted by the node that they leave: those of node n are target[start[n]] .. target[start[n + 1] - 1]
typedef struct sorted {
    int *start, *target;
} sorted;

static sorted sort_edges(const kd_read_graph *g, kd_arena *arena)
{
    sorted s = {kd_cut_int(arena, g->nnodes + 2), kd_cut_int(arena, g->nedges)};
    if (arena->failed) return s;
    // by counting: start[n + 2] counts, its sums are beginnings in start[n + 1], which filling moves on
    for (int e = 0; e < g->nedges; e++) s.start[g->edge[e].from + 2]++;
    for (int n = 0; n < g->nnodes; n++) s.start[n + 2] += s.start[n + 1];
    for (int e = 0; e < g->nedges; e++) s.target[s.start[g->edge[e].from + 1]++] = g->edge[e].to;
    return s;
}

// The variables that stand in an equation: its own reads, and those of controllers behind it
typedef struct listing {
    sorted between, variables; // nodes to nodes, nodes to variables
    int   *stack, *seen, mark; // (nodes); seen: the last listing that has been there
} listing;

static int list_variables(listing *l, int node, int *out)
{
    // a new mark instead of clearing what was seen
    const int mark = ++l->mark;
    int       n = 0, depth = 0;
    l->stack[depth++] = node;
    l->seen[node] = mark;
    // all variables that an equation reads, also through others that it reads; each node once
    while (depth > 0) {
        const int at = l->stack[--depth];
        for (int k = l->variables.start[at]; k < l->variables.start[at + 1]; k++) out[n++] = l->variables.target[k];
        for (int k = l->between.start[at]; k < l->between.start[at + 1]; k++) {
            const int to = l->between.target[k];
            if (l->seen[to] == mark) continue;
            l->seen[to] = mark;
            l->stack[depth++] = to;
        }
    }
    return n;
}

typedef struct matching {
    int *variable_of, *equation_of; // -1: none
    int *from;                      // (variables) equation that found it
    int *seen;                      // (variables) root + 1 of the search that has been there
    int *queue, nqueue;             // equations that the last search has passed
} matching;

// Is there a variable for an equation, perhaps by giving others to those that have one?
static bool augment(matching *m, listing *l, int first_node, int root, int *candidates)
{
    m->queue[0] = root;
    m->nqueue = 1;
    for (int k = 0; k < m->nqueue; k++) {
        const int equation = m->queue[k], n = list_variables(l, first_node + equation, candidates);
        for (int i = 0; i < n; i++) {
            int variable = candidates[i];
            if (m->seen[variable] == root + 1) continue;
            m->seen[variable] = root + 1;
            m->from[variable] = equation;
            if (m->equation_of[variable] >= 0) {
                m->queue[m->nqueue++] = m->equation_of[variable];
                continue;
            }
            // a free one: along the path back to the root every equation takes the variable that it has found
            for (int e = m->from[variable];; e = m->from[variable]) {
                const int before = m->variable_of[e];
                m->variable_of[e] = variable;
                m->equation_of[variable] = e;
                if (e == root) return true;
                variable = before;
            }
        }
    }
    return false;
}

static void add_name(const kd_model *m, int i, int count, char *text, size_t size)
{
    if (count < MOST_NAMES) kd_text_append(text, size, "%s'%s'", count > 0 ? ", " : "", m->algebraic[i].name);
    if (count == MOST_NAMES) kd_text_append(text, size, " and others");
}

// "the equations of 'a', 'b' have only 'a' to be solved for, and none is left for 'b'"
static void refuse_equations(kd_model *m, const matching *match, int root)
{
    char equations[400] = "", variables[400] = "", left[400] = "";
    int  n = 0, free = 0;
    if (match->nqueue == 1) {
        kd_model_error(m, KD_SECTION_ALGEBRAIC, root, "equation",
                       "no algebraic variable stands in its equation: write '%s' there, which it is solved for",
                       kd_algebraic_own_name(&m->algebraic[root]));
        return;
    }
    // by Hall's condition: the equations that were reached share too few variables
    for (int k = 0; k < match->nqueue; k++) add_name(m, match->queue[k], k, equations, sizeof equations);
    for (int i = 0; i < m->nalgebraic; i++) {
        if (match->seen[i] == root + 1) add_name(m, i, n++, variables, sizeof variables);
        if (match->equation_of[i] < 0) add_name(m, i, free++, left, sizeof left);
    }
    kd_model_error(m, KD_SECTION_ALGEBRAIC, root, "equation",
                   "the equations of %s have only %s to be solved for: they are too many, and none is left for %s",
                   equations, variables, left);
}

kd_status kd_finish_algebraic(kd_model *m, const kd_read_graph *between, const kd_read_graph *variables)
{
    const int n = m->nalgebraic, first_node = between->nnodes - n;
    if (n == 0) return KD_OK;
    kd_arena arena = {0};
    listing  l = {sort_edges(between, &arena), sort_edges(variables, &arena), kd_cut_int(&arena, between->nnodes),
                  kd_cut_int(&arena, between->nnodes), 0};
    matching match = {.variable_of = kd_cut_int(&arena, n),
                      .equation_of = kd_cut_int(&arena, n),
                      .from = kd_cut_int(&arena, n),
                      .seen = kd_cut_int(&arena, n),
                      .queue = kd_cut_int(&arena, n + 1)};
    int     *candidates = kd_cut_int(&arena, variables->nedges);
    // a perfect matching of equations and variables, one augmenting path for each equation
    if (!arena.failed) {
        for (int i = 0; i < n; i++) match.variable_of[i] = match.equation_of[i] = -1;
        for (int root = 0; root < n; root++)
            if (!augment(&match, &l, first_node, root, candidates)) refuse_equations(m, &match, root);
    }
    const kd_status status = arena.failed ? KD_ERR_MEMORY : KD_OK;
    kd_arena_release(&arena);
    return status;
}
