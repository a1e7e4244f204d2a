// Tests of the list of formulations: words, options, refused arguments, states and vectors.
#include "forms/whole.h"

// Every form has a word that leads back to it, and a sentence.
static void words_lead_back(void **state)
{
    (void)state;
    for (int i = 0; i < KD_FORMULATION_COUNT; i++) {
        kd_formulation form = KD_FORMULATION_COUNT;
        assert_true(kd_formulation_parse(kd_formulation_word((kd_formulation)i), &form));
        assert_int_equal(form, i);
        assert_true(strlen(kd_formulation_sentence((kd_formulation)i)) > 10);
    }
    kd_formulation form = KD_GGL;
    assert_false(kd_formulation_parse("ggl ", &form));
    assert_false(kd_formulation_parse("", &form));
    assert_false(kd_formulation_parse(NULL, &form));
    assert_int_equal(form, KD_GGL);
    assert_string_equal(kd_formulation_word(KD_FORMULATION_COUNT), "unknown");
}

// Wrong arguments are refused with words, and no DAE is left.
static void wrong_arguments_are_refused(void **state)
{
    (void)state;
    kd_eom_def             def = whole();
    kd_eom                *eom = make(&def);
    kd_state              *x = state_at(eom, &whole_place);
    kd_formulation_options opt;
    kd_dae                *dae;
    char                   message[128];
    assert_int_equal(kd_formulation_create(NULL, NULL, x, KD_GGL, NULL, &dae, message, sizeof message),
                     KD_ERR_ARGUMENT);
    assert_int_equal(kd_formulation_create(eom, NULL, NULL, KD_GGL, NULL, &dae, message, sizeof message),
                     KD_ERR_ARGUMENT);
    assert_int_equal(kd_formulation_create(eom, NULL, x, KD_FORMULATION_COUNT, NULL, &dae, message, sizeof message),
                     KD_ERR_ARGUMENT);
    opt = kd_formulation_options_default();
    opt.rank_tolerance = 0;
    assert_int_equal(kd_formulation_create(eom, NULL, x, KD_GGL, &opt, &dae, message, sizeof message), KD_ERR_ARGUMENT);
    assert_non_null(strstr(message, "form.rank_tolerance"));
    opt = kd_formulation_options_default();
    opt.baumgarte_alpha = NAN;
    message[0] = '\0';
    assert_int_equal(kd_formulation_create(eom, NULL, x, KD_BAUMGARTE1, &opt, &dae, message, sizeof message),
                     KD_ERR_ARGUMENT);
    assert_non_null(strstr(message, "form.baumgarte_alpha"));
    assert_null(dae);
    opt = kd_formulation_options_default();
    opt.constraints = (kd_decomposition)7;
    assert_int_equal(kd_formulation_create(eom, NULL, x, KD_GGL, &opt, &dae, NULL, 0), KD_ERR_ARGUMENT);
    kd_state_destroy(x);
    kd_eom_destroy(eom);
}

// Packing a state and unpacking it gives the state again; internal components of ggl are zero. ode has p, v and r only,
// and solves for the rest; statespace has coordinates of its own.
static void pack_and_unpack_are_inverse(void **state)
{
    (void)state;
    kd_eom_def def = whole();
    kd_eom    *eom = make(&def);
    kd_state  *x = state_at(eom, &whole_place), *y = state_at(eom, &whole_place);
    for (int form = 0; form < KD_FORMULATION_COUNT; form++) {
        kd_dae *dae = make_dae(eom, &whole_inputs, x, (kd_formulation)form, NULL);
        double  vector[32];
        assert_true(dae->n <= 32);
        for (int i = 0; i < 32; i++) vector[i] = NAN;
        kd_formulation_pack(dae, x, vector);
        memset(y->p, 0, (size_t)y->n * sizeof(double));
        kd_formulation_unpack(dae, 0.7, vector, y);
        assert_memory_equal(y->p, x->p, (size_t)dae->nstate * sizeof(double));
        assert_int_equal(dae->nstate, form == KD_ODE ? 9 : form == KD_STATESPACE ? 0 : x->n);
        assert_close(y->t, 0.7, 0);
        for (int i = 0; i < dae->n; i++) assert_true(isfinite(vector[i]));
        if (form == KD_GGL) assert_close(vector[dae->n - 1], 0, 0);
        kd_dae_destroy(dae);
    }
    kd_state_destroy(y);
    kd_state_destroy(x);
    kd_eom_destroy(eom);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_lead_back),
        cmocka_unit_test(wrong_arguments_are_refused),
        cmocka_unit_test(pack_and_unpack_are_inverse),
    };
    silence_unused_whole();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
