// search_methods.c: see search_methods.h.
#include "study/search_methods.h"

#include <string.h>

// clang-format off
const kd_search_method KD_SEARCH_METHOD[KD_SEARCH_METHODS] = {
    // word          of NLopt             global gradient <=     =
    {"cobyla",      "LN_COBYLA",          false, false, true,  true,  "linear approximations in a trust region (Powell)"},
    {"bobyqa",      "LN_BOBYQA",          false, false, false, false, "quadratic approximations in a trust region (Powell)"},
    {"sbplx",       "LN_SBPLX",           false, false, false, false, "simplices in subspaces (Rowan)"},
    {"nelder_mead", "LN_NELDERMEAD",      false, false, false, false, "the simplex of Nelder and Mead"},
    {"slsqp",       "LD_SLSQP",           false, true,  true,  true,  "sequential quadratic programming (Kraft)"},
    {"mma",         "LD_MMA",             false, true,  true,  false, "moving asymptotes (Svanberg)"},
    {"lbfgs",       "LD_LBFGS",           false, true,  false, false, "quasi-Newton steps (Nocedal, Luksan)"},
    {"direct",      "GN_ORIG_DIRECT_L",   true,  false, true,  false, "boxes divided where they promise most (Gablonsky, Kelley)"},
    {"crs",         "GN_CRS2_LM",         true,  false, false, false, "controlled random search with local mutation (Kaelo, Ali)"},
    {"isres",       "GN_ISRES",           true,  false, true,  true,  "an evolution strategy (Runarsson, Yao)"},
    {"esch",        "GN_ESCH",            true,  false, false, false, "an evolutionary algorithm (da Silva Santos)"},
};
// clang-format on

int kd_search_method_of(const char *word)
{
    for (int i = 0; i < KD_SEARCH_METHODS; i++)
        if (strcmp(KD_SEARCH_METHOD[i].word, word) == 0) return i;
    return -1;
}
