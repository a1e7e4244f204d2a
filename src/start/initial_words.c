// initial_words.c: what the search for consistent initial values says: why there are none, what moved, by names.
#include "start/initial_words.h"

#include <math.h>
#include <string.h>

#include "core/text.h"

#define NAMED_RESIDUAL 0.05  // rows with this part of the largest remaining residual are named
#define NAMED_DIRECTION 1e-6 // coordinates with this part of the largest entry of a null vector are named
#define NAMES_MAX 6          // names in one message

// ---- messages -------------------------------------------------------------------------------------------------------

// The name in quotes; names of joints and rates bring their own.
const char *kd_iv_quoted(const kd_eom *eom, kd_kind kind, int i, char *buffer, size_t size)
{
    char name[128];
    kd_eom_name(eom, kind, i, name, sizeof name);
    const char *quote = strchr(name, '\'') ? "" : "'";
    kd_text(buffer, size, "%s%s%s", quote, name, quote);
    return buffer;
}

void kd_iv_append_row(const kd_iv *iv, int fn, int i, char *text)
{
    char        name[128];
    const char *what = "constraint", *level = "";
    kd_kind     kind = KD_NAME_LAMBDA;
    // conditions of the caller have names of their own or numbers; of all others what it is, of which kind and level
    switch (fn) {
    case KD_IV_CONDITION: {
        const char *given = iv->opt->condition_name ? iv->opt->condition_name(i, iv->opt->context) : NULL;
        if (given)
            kd_text_append(text, KD_IV_STORY, "condition '%s'", given);
        else
            kd_text_append(text, KD_IV_STORY, "condition[%d]", i);
        return;
    }
    case KD_C:
        what = "contact equation", kind = KD_NAME_S;
        break;
    case KD_GI:
        level = " (velocity level)";
        break;
    case KD_GII:
        level = " (acceleration level)";
        break;
    case KD_H:
        kind = KD_NAME_MU;
        break;
    case KD_E:
        what = "invariant", kind = KD_NAME_E;
        break;
    case KD_HI:
        kind = KD_NAME_MU, level = " (acceleration level)";
        break;
    case KD_RESIDUAL:
        what = "equation of motion", kind = KD_NAME_V;
        break;
    case KD_D:
        what = "equation of", kind = KD_NAME_W;
        break;
    default:
        break;
    }
    kd_iv_quoted(iv->eom, kind, i, name, sizeof name);
    bool tells = strncmp(name, what, strlen(what)) == 0; // a model's row: constraint 'rod' length
    kd_text_append(text, KD_IV_STORY, "%s%s%s%s", tells ? "" : what, tells ? "" : " ", name, level);
}

// Rows of the largest remaining residuals, conditions first.
typedef struct culprits {
    int    row[NAMES_MAX], count, conditions;
    double residual[NAMES_MAX];
} culprits;

static double scaled_residual(const kd_iv_system *s, int i)
{
    return fabs(s->c.row[i] * s->c.F[i]);
}

static culprits find_culprits(const kd_iv_system *s)
{
    culprits found = {.count = 0};
    double   top = 0.0;
    // residuals in the scaling of the iteration
    for (int i = 0; i < s->c.m; i++) top = fmax(top, scaled_residual(s, i));
    // conditions first, then the rows of the equations
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < s->c.m && found.count < NAMES_MAX; i++) {
            bool is_condition = s->fn[i] == KD_IV_CONDITION;
            if (is_condition != (pass == 0) || scaled_residual(s, i) < NAMED_RESIDUAL * top) continue;
            found.conditions += is_condition;
            found.residual[found.count] = s->c.F[i];
            found.row[found.count++] = i;
        }
    return found;
}

static bool has_held(const kd_iv *iv)
{
    for (int i = 0; i < iv->n.nv; i++)
        if ((iv->opt->hold_p && iv->opt->hold_p[i]) || (iv->opt->hold_v && iv->opt->hold_v[i])) return true;
    return false;
}

static void append_culprits(const kd_iv_system *s, const culprits *found, int from, int to, char *text)
{
    for (int k = from; k < to; k++) {
        if (k > from) kd_text_append(text, KD_IV_STORY, k + 1 < to ? ", " : " and ");
        kd_iv_append_row(s->iv, s->fn[found->row[k]], s->fn_index[found->row[k]], text);
    }
}

// "condition 'start angle' contradicts constraint 'rod length' (residuals 0.41, 0.13 remain)"
void kd_iv_describe_contradiction(const kd_iv_system *s, const char *level, char *text)
{
    culprits found = find_culprits(s);
    int      split = found.conditions < found.count ? found.conditions : 0;
    kd_text(text, KD_IV_STORY, "t = %g, %s: ", s->iv->now->t, level);
    // one row; conditions against rows; rows against each other
    if (found.count == 1) {
        append_culprits(s, &found, 0, 1, text);
        kd_text_append(text, KD_IV_STORY, " cannot be satisfied near the guess");
    } else if (split > 0) {
        append_culprits(s, &found, 0, split, text);
        kd_text_append(text, KD_IV_STORY, split == 1 ? " contradicts " : " contradict ");
        append_culprits(s, &found, split, found.count, text);
    } else {
        append_culprits(s, &found, 0, found.count, text);
        kd_text_append(text, KD_IV_STORY, " contradict each other");
    }
    kd_text_append(text, KD_IV_STORY, " (remaining residuals");
    for (int k = 0; k < found.count; k++) kd_text_append(text, KD_IV_STORY, "%s %.3g", k ? "," : "", found.residual[k]);
    kd_text_append(text, KD_IV_STORY, "); change or drop %s%s, or start from a better guess",
                   found.count == 1 ? "it" : "one of them", has_held(s->iv) ? ", release held components" : "");
}

void kd_iv_describe_no_convergence(const kd_iv_system *s, const char *level, char *text)
{
    int worst = 0;
    for (int i = 1; i < s->c.m; i++)
        if (scaled_residual(s, i) > scaled_residual(s, worst)) worst = i;
    kd_text(text, KD_IV_STORY,
            "t = %g, %s: no consistent values after %d iterations; the largest residual, %.3g, is left in ",
            s->iv->now->t, level, s->c.max_iterations, s->c.F[worst]);
    kd_iv_append_row(s->iv, s->fn[worst], s->fn_index[worst], text);
    kd_text_append(
        text, KD_IV_STORY,
        "; perhaps there are none: check lengths and positions, start from a better guess, or raise max_iterations");
}

// ---- null vectors in words ------------------------------------------------------------------------------------------

// Part of the null space that lies in the unknowns of a kind, in scaled coordinates.
double kd_iv_null_part(const kd_iv_system *s, unsigned vars)
{
    double top = 0.0;
    for (int l = s->c.rank; l < s->c.n; l++) {
        double sum = 0.0;
        for (int j = 0; j < s->c.n; j++)
            if (vars & KD_BIT(s->var[j])) sum += s->c.Vt[l + s->c.n * j] * s->c.Vt[l + s->c.n * j];
        top = fmax(top, sqrt(sum));
    }
    return top;
}

void kd_iv_add_name(const kd_iv *iv, kd_iv_name_list *list, kd_kind kind, int i)
{
    char name[128];
    if (list->count++ >= NAMES_MAX) return;
    list->named++;
    kd_text_append(list->text, KD_IV_STORY, "%s%s", list->count > 1 ? ", " : "",
                   kd_iv_quoted(iv->eom, kind, i, name, sizeof name));
}

// Names of the components x = B N_l of the null vectors that are not zero. B = Z for positions, else columns of var.
void kd_iv_name_null_components(kd_iv_system *s, int var, kd_kind kind, int count, kd_iv_name_list *list)
{
    kd_iv *iv = s->iv;
    int    k = kd_closest_null_space(&s->c, s->c.N);
    double top = 0.0;
    if (kd_iv_null_part(s, KD_BIT(var)) < KD_IV_TOUCHED) return;
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < count; i++) {
            // largest component i of B N_l
            double amount = 0.0;
            for (int l = 0; l < k; l++) {
                double x = 0.0;
                for (int j = 0; j < s->c.n; j++) {
                    if (s->var[j] != var) continue;
                    double B = (double)(s->var_index[j] == i);
                    if (var == KD_P && !iv->flat) B = iv->Z[i + iv->n.np * s->var_index[j]];
                    x += B * s->c.N[j + s->c.n * l];
                }
                amount = fmax(amount, fabs(x));
            }
            if (pass == 0) top = fmax(top, amount);
            if (pass == 1 && amount > NAMED_DIRECTION * top) kd_iv_add_name(iv, list, kind, i);
        }
}

void kd_iv_end_names(kd_iv_name_list *list)
{
    if (list->count > list->named) kd_text_append(list->text, KD_IV_STORY, " and %d more", list->count - list->named);
}

void kd_iv_describe_undetermined(kd_iv_system *s, const char *level, char *text)
{
    const kd_dims  *n = &s->iv->n;
    kd_iv_name_list list = {.text = text};
    kd_text(text, KD_IV_STORY, "t = %g, %s: conditions and constraints do not determine ", s->iv->now->t, level);
    kd_iv_name_null_components(s, KD_P, KD_NAME_P, n->np, &list);
    kd_iv_name_null_components(s, KD_V, KD_NAME_V, n->nv, &list);
    kd_iv_name_null_components(s, KD_R, KD_NAME_R, n->nr, &list);
    kd_iv_end_names(&list);
    kd_text_append(
        text, KD_IV_STORY,
        "; add conditions, hold components, or set require_unique to false for the values closest to the guess");
}

// ---- news -----------------------------------------------------------------------------------------------------------

// "initial position 'x' moved by 49, velocity 'y' by 0.3 to satisfy the constraints": the largest move of each kind
static void tell_moves(const kd_iv *iv, const kd_state *from)
{
    const struct {
        const char   *word;
        kd_kind       kind;
        const double *before, *after;
        int           n;
    } parts[] = {{"position", KD_NAME_P, from->p, iv->now->p, iv->n.np},
                 {"velocity", KD_NAME_V, from->v, iv->now->v, iv->n.nv},
                 {"inner state", KD_NAME_R, from->r, iv->now->r, iv->n.nr},
                 {"contact coordinate", KD_NAME_S, from->s, iv->now->s, iv->n.ns}};
    bool first = true;
    // one component stands for its kind: the one that moved most
    for (size_t k = 0; k < sizeof parts / sizeof *parts; k++) {
        char   name[128];
        int    most = 0;
        double move = 0.0;
        for (int i = 0; i < parts[k].n; i++) {
            double change = fabs(parts[k].after[i] - parts[k].before[i]);
            if (change > move) most = i, move = change;
        }
        if (move == 0.0) continue;
        kd_text_append(iv->message, iv->size, "%s%s %s %sby %.3g", first ? "initial " : ", ", parts[k].word,
                       kd_iv_quoted(iv->eom, parts[k].kind, most, name, sizeof name), first ? "moved " : "", move);
        first = false;
    }
    kd_text_append(iv->message, iv->size, " to satisfy the constraints%s%s",
                   iv->opt->nconditions > 0 ? " and conditions" : "", iv->by_invariants ? " and invariants" : "");
}

static void tell_redundancy(const kd_iv *iv, bool first)
{
    int rows = 0;
    for (int i = 0; i < iv->n.nlambda; i++) rows += iv->now->active_lambda[i] != 0;
    for (int i = 0; i < iv->n.nmu; i++) rows += iv->now->active_mu[i] != 0;
    kd_text_append(iv->message, iv->size,
                   "%s%d of %d constraints %s redundant at t = %g: the multipliers are not unique%s", first ? "" : "; ",
                   iv->redundant, rows, iv->redundant == 1 ? "is" : "are", iv->now->t,
                   iv->opt->nconditions > 0 ? "" : ", those of least norm are taken");
}

kd_status kd_iv_tell_news(const kd_iv *iv, const kd_state *from)
{
    const size_t motion = (size_t)(iv->n.np + iv->n.nv + iv->n.nr) * sizeof(double); // p, v, r lie together
    const size_t contact = (size_t)iv->n.ns * sizeof(double);
    const bool   redundant = iv->redundant > 0 && !iv->opt->expects_redundant;
    const bool   moved = memcmp(from->p, iv->now->p, motion) != 0 || memcmp(from->s, iv->now->s, contact) != 0;
    kd_text(iv->message, iv->size, "%s", "");
    // each kind of news in one part of the sentence
    if (moved) tell_moves(iv, from);
    if (redundant) tell_redundancy(iv, !moved);
    if (iv->dependent[0])
        kd_text_append(iv->message, iv->size,
                       "%sat t = %g, %s: what depends on others adds no condition to those that are imposed",
                       moved || redundant ? "; " : "", iv->now->t, iv->dependent);
    if (iv->spare[0])
        kd_text_append(iv->message, iv->size,
                       "%sat t = %g %s hold%s, but follow%s from constraints and other conditions",
                       moved || redundant || iv->dependent[0] ? "; " : "", iv->now->t, iv->spare,
                       strchr(iv->spare, ',') ? "" : "s", strchr(iv->spare, ',') ? "" : "s");
    // a start that moved is told by its status, too
    if (moved) return KD_CORRECTED;
    return redundant || iv->dependent[0] || iv->spare[0] ? KD_REDUNDANT : KD_OK;
}
