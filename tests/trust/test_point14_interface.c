// Point 14, the C interface: NULL is refused or neutral in every public function; an object that is called from its own
// callbacks refuses; a state of other equations is an error; a constraint that becomes NaN is told as such.
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on
#include <ctype.h>
#include <dirent.h>
#include <kardan/kardan.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- NULL -----------------------------------------------------------------------------------------------------------

// All calls are named, for the test that none is missing.
static const char *called[600];
static int         ncalled;

static void note(const char *call)
{
    assert_true(ncalled < 600);
    called[ncalled++] = call;
}

// An optional library may not be there: that is said before arguments are looked at.
static bool is_refused(kd_status status)
{
    return status == KD_ERR_ARGUMENT || status == KD_ERR_UNAVAILABLE;
}

#define REFUSED(call) note(#call), assert_true(is_refused(call))
#define STOPPED(call) note(#call), assert_true((call) != KD_EVAL_OK)
#define WORDS(call) note(#call), assert_non_null(call)
#define NEUTRAL(call) note(#call), (void)(call)
#define NOTHING(call) note(#call), (call)
#define DENIED(call) note(#call), assert_false(call)

static void null_is_refused_everywhere(void **state)
{
    (void)state;
    // clang-format off
    REFUSED(kd_integrator_create(NULL, KD_RADAU, NULL, NULL, NULL, 0));
    REFUSED(kd_integrator_start(NULL, 0, NULL));
    REFUSED(kd_integrator_restart(NULL, 0, NULL, (kd_restart)0));
    NOTHING(kd_integrator_propose(NULL, 1));
    REFUSED(kd_integrator_step(NULL, 0));
    REFUSED(kd_integrator_retract(NULL, 0));
    NEUTRAL(kd_integrator_ends(NULL, NULL));
    NEUTRAL(kd_integrator_time(NULL));
    NEUTRAL(kd_integrator_time_old(NULL));
    NEUTRAL(kd_integrator_x(NULL));
    REFUSED(kd_integrator_dense(NULL, 0, NULL));
    NEUTRAL(kd_integrator_stats(NULL));
    NOTHING(kd_integrator_archive(NULL, NULL));
    WORDS(kd_integrator_message(NULL));
    NOTHING(kd_integrator_destroy(NULL));
    NOTHING(kd_integrator_refresh(NULL));
    NEUTRAL(kd_integrator_gamma(NULL));
    NEUTRAL(kd_integrator_lost(NULL));
    NEUTRAL(kd_integrator_kind_of(NULL));
    WORDS(kd_integrator_about(KD_RADAU, NULL));
    NEUTRAL(kd_integrator_own_options(KD_RADAU, NULL));
    NEUTRAL(kd_integrator_common_options(NULL));
    NEUTRAL(kd_integrator_variant(KD_SDIRK, NULL));
    NOTHING(kd_integrator_set_variant(KD_SDIRK, 1, NULL));
    NEUTRAL(kd_formulation_option_rows(NULL));
    NEUTRAL(kd_option_find(NULL));
    NEUTRAL(kd_option_values(NULL, NULL, 0));
    REFUSED(kd_option_set(NULL, NULL, NULL, NULL, 0));
    REFUSED(kd_option_get(NULL, NULL, NULL, 0));
    NEUTRAL(kd_method_misfit(NULL, NULL));
    NEUTRAL(kd_method_fits(NULL, NULL, 0));
    NEUTRAL(kd_method_formulation(NULL));
    NEUTRAL(kd_method_named(NULL));
    REFUSED(kd_simulation_advice(NULL, NULL, 0));
    REFUSED(kd_method_automatic(NULL, NULL, NULL, NULL, NULL, 0));
    REFUSED(kd_certifier_create(NULL, NULL, NULL));
    REFUSED(kd_certifier_create_by(NULL, NULL));
    NOTHING(kd_certifier_destroy(NULL));
    REFUSED(kd_certifier_see(NULL, NULL, NULL));
    NEUTRAL(kd_certifier_findings(NULL));
    NEUTRAL(kd_certifier_certificate(NULL));
    NEUTRAL(kd_certificate_level(NULL, (kd_level)0));
    NEUTRAL(kd_certificate_norm(NULL));
    NEUTRAL(kd_certificate_energy(NULL));
    NEUTRAL(kd_certificate_reference(NULL, 0));
    NEUTRAL(kd_certificate_energy_error(NULL));
    NEUTRAL(kd_certificate_energy_explained(NULL));
    NEUTRAL(kd_certificate_invariant(NULL));
    NOTHING(kd_certificate_take(NULL, NULL));
    NOTHING(kd_certificate_add(NULL, NULL, (kd_check_verdict)0, 0, "%s", ""));
    NOTHING(kd_certificate_verdict(NULL, NULL));
    NEUTRAL(kd_certificate_broken(NULL, NULL, 0));
    NEUTRAL(kd_certificate_describe(NULL, NULL, 0));
    NEUTRAL(kd_certificate_json(NULL, NULL, 0));
    NEUTRAL(kd_compare_methods(NULL, 0));
    WORDS(kd_compare_method_words(NULL, NULL, 0));
    NEUTRAL(kd_compare_method_options(NULL));
    NEUTRAL(kd_compare_method_matches(NULL, NULL));
    REFUSED(kd_compare(NULL, 0, NULL, NULL, NULL, 0));
    NOTHING(kd_comparison_destroy(NULL));
    NEUTRAL(kd_comparison_time_to(NULL, 0, 0, 0));
    NEUTRAL(kd_comparison_table(NULL, NULL, 0));
    NEUTRAL(kd_comparison_advice(NULL, NULL, 0));
    NEUTRAL(kd_comparison_json(NULL, NULL, 0));
    REFUSED(kd_cross_check_create(NULL, 0, NULL, NULL, 0, NULL, NULL, 0));
    REFUSED(kd_cross_check_see(NULL, NULL));
    REFUSED(kd_cross_check_run(NULL, NULL, NULL));
    NOTHING(kd_cross_check_destroy(NULL));
    NEUTRAL(kd_cross_describe(NULL, 0, NULL, 0));
    NEUTRAL(kd_cross_json(NULL, NULL, 0));
    NEUTRAL(kd_cross_is_good(NULL));
    NOTHING(kd_dae_destroy(NULL));
    REFUSED(kd_eom_create(NULL, NULL, NULL, 0));
    NEUTRAL(kd_eom_change_values(NULL));
    NOTHING(kd_eom_shift_drives(NULL, NULL));
    NEUTRAL(kd_model_parameters(NULL, NULL, 0));
    NEUTRAL(kd_model_parameter_index(NULL, NULL));
    NEUTRAL(kd_model_count(NULL, KD_SECTION_BODY));
    WORDS(kd_model_name(NULL, KD_SECTION_BODY, 0));
    NEUTRAL(kd_model_find(NULL, KD_SECTION_BODY, NULL));
    NEUTRAL(kd_model_about(NULL, KD_SECTION_BODY, 0));
    NEUTRAL(kd_model_body_def(NULL, 0));
    NEUTRAL(kd_model_frame_def(NULL, 0));
    NEUTRAL(kd_model_joint_def(NULL, 0));
    NEUTRAL(kd_model_force_def(NULL, 0));
    NEUTRAL(kd_model_constraint_def(NULL, 0));
    NEUTRAL(kd_model_state_def(NULL, 0));
    NEUTRAL(kd_model_input_def(NULL, 0));
    NEUTRAL(kd_model_sensor_def(NULL, 0));
    NEUTRAL(kd_model_block_def(NULL, 0));
    NEUTRAL(kd_model_variable_def(NULL, 0));
    NEUTRAL(kd_model_algebraic_def(NULL, 0));
    NEUTRAL(kd_model_user_force_def(NULL, 0));
    NEUTRAL(kd_model_curve_def(NULL, 0));
    NEUTRAL(kd_model_track_def(NULL, 0));
    NEUTRAL(kd_model_event_def(NULL, 0));
    NOTHING(kd_model_gravity(NULL, NULL));
    NEUTRAL(kd_model_coordinates(NULL, 0));
    NEUTRAL(kd_model_has_ball(NULL, 0));
    NEUTRAL(kd_model_coordinate(NULL, 0, 0));
    NEUTRAL(kd_model_path(NULL, KD_SECTION_BODY, 0, 0, NULL, 0));
    REFUSED(kd_model_path_about(NULL, NULL, NULL, NULL, 0));
    NEUTRAL(kd_system_options_of(NULL));
    NEUTRAL(kd_system_carrier(NULL, 0));
    NEUTRAL(kd_system_watched(NULL, 0));
    REFUSED(kd_system_set_parameters(NULL, NULL, NULL, 0));
    NEUTRAL(kd_system_parameters(NULL));
    REFUSED(kd_system_by_parameter(NULL, NULL, (kd_fn)0, 0, NULL, NULL));
    REFUSED(kd_system_run_options(NULL, NULL, NULL, 0));
    REFUSED(kd_run_set_options(NULL, NULL, NULL, 0));
    REFUSED(kd_model_add_invariant(NULL, NULL, NULL));
    REFUSED(kd_model_add_condition(NULL, NULL, NULL));
    NEUTRAL(kd_system_driven_step(NULL, 1.0));
    NEUTRAL(kd_recorder_table(NULL, NULL));
    NEUTRAL(kd_recorder_place(NULL, 0));
    NEUTRAL(kd_recorder_events_count(NULL));
    NEUTRAL(kd_recorder_event(NULL, 0));
    REFUSED(kd_study_read(NULL, NULL, NULL, 0));
    REFUSED(kd_study_read_text(NULL, NULL, 0, NULL, NULL, 0));
    NOTHING(kd_study_destroy(NULL));
    NEUTRAL(kd_study_title(NULL));
    NEUTRAL(kd_study_rows(NULL));
    NEUTRAL(kd_study_parameters(NULL));
    NEUTRAL(kd_study_parameter(NULL, 0));
    NEUTRAL(kd_study_outputs(NULL));
    NEUTRAL(kd_study_output(NULL, 0));
    REFUSED(kd_study_point(NULL, 0, NULL));
    REFUSED(kd_study_run(NULL, NULL, NULL, 0));
    NEUTRAL(kd_study_row_of(NULL, 0));
    REFUSED(kd_study_repeat(NULL, 0, NULL, NULL, NULL, 0));
    DENIED(kd_study_identifies(NULL));
    REFUSED(kd_study_identify(NULL, NULL, NULL, 0));
    NEUTRAL(kd_study_mean(NULL, 0));
    NEUTRAL(kd_study_deviation(NULL, 0));
    NEUTRAL(kd_study_quantile(NULL, 0, 0.5));
    NEUTRAL(kd_study_probability(NULL, 0));
    NEUTRAL(kd_study_index(NULL, 0, 0, true));
    REFUSED(kd_study_save_csv(NULL, NULL, NULL, 0));
    REFUSED(kd_study_save_page(NULL, NULL, NULL, 0));
    REFUSED(kd_recorder_create(NULL, NULL, NULL, NULL, 0));
    REFUSED(kd_recorder_create_for(NULL, NULL, NULL, NULL, NULL, 0));
    NOTHING(kd_recorder_destroy(NULL));
    REFUSED(kd_recorder_simulate(NULL, NULL, NULL, 0.0));
    REFUSED(kd_recorder_attach(NULL, NULL, 0.0, 0.0));
    REFUSED(kd_recorder_begin(NULL, NULL));
    REFUSED(kd_recorder_end(NULL, KD_OK));
    STOPPED(kd_recorder_see(NULL, false, NULL));
    NEUTRAL(kd_recorder_columns(NULL));
    WORDS(kd_recorder_name(NULL, 0));
    WORDS(kd_recorder_unit(NULL, 0));
    NEUTRAL(kd_recorder_find(NULL, NULL));
    NEUTRAL(kd_recorder_rows(NULL));
    NEUTRAL(kd_recorder_dropped(NULL));
    NEUTRAL(kd_recorder_times(NULL));
    NEUTRAL(kd_recorder_value(NULL, 0, 0));
    REFUSED(kd_recorder_column(NULL, 0, NULL));
    NEUTRAL(kd_recorder_certificate(NULL));
    WORDS(kd_recorder_message(NULL));
    REFUSED(kd_recorder_save_csv(NULL, NULL, NULL, 0));
    REFUSED(kd_recorder_save_hdf5(NULL, NULL, NULL, 0));
    REFUSED(kd_recorder_save_report(NULL, NULL, NULL, 0));
    REFUSED(kd_recorder_save_svg(NULL, NULL, NULL, 0));
    NOTHING(kd_eom_destroy(NULL));
    NEUTRAL(kd_eom_dims(NULL));
    NEUTRAL(kd_eom_rows(NULL, (kd_fn)0));
    NEUTRAL(kd_eom_columns(NULL, (kd_var)0));
    WORDS(kd_eom_title(NULL));
    NEUTRAL(kd_eom_unit(NULL, 0));
    NEUTRAL(kd_eom_position_unit(NULL, 0));
    NEUTRAL(kd_eom_time(NULL));
    NEUTRAL(kd_eom_definition(NULL));
    WORDS(kd_eom_name(NULL, (kd_kind)0, 0, NULL, 0));
    NEUTRAL(kd_eom_depends(NULL, (kd_fn)0, (kd_var)0));
    REFUSED(kd_eom_data_create(NULL, NULL));
    REFUSED(kd_eom_data_reserve(NULL));
    NOTHING(kd_eom_data_destroy(NULL));
    NOTHING(kd_eom_at_parameters(NULL, NULL));
    NOTHING(kd_eom_at_time(NULL, 0, NULL, NULL, NULL, NULL));
    NOTHING(kd_eom_at_position(NULL, NULL, NULL));
    NOTHING(kd_eom_at_velocity(NULL, NULL, NULL));
    NOTHING(kd_eom_at_acceleration(NULL, NULL, NULL, NULL, NULL));
    NEUTRAL(kd_eom_point(NULL));
    STOPPED(kd_eom_eval(NULL, (kd_fn)0, NULL));
    STOPPED(kd_eom_Z(NULL, NULL));
    STOPPED(kd_eom_q_p(NULL, NULL));
    STOPPED(kd_eom_oplus(NULL, NULL, NULL, NULL));
    STOPPED(kd_eom_energies(NULL, NULL));
    STOPPED(kd_eom_content(NULL, NULL, NULL));
    NEUTRAL(kd_eom_caution(NULL, NULL, 0));
    NEUTRAL(kd_eom_notice(NULL, NULL, 0));
    NOTHING(kd_eom_jumps(NULL, NULL, NULL, NULL, 0));
    NEUTRAL(kd_eom_feeds(NULL, NULL, 0));
    STOPPED(kd_eom_unseen(NULL, NULL, NULL, NULL, NULL));
    NEUTRAL(kd_eom_unsearched(NULL, 0));
    STOPPED(kd_eom_acceleration(NULL, NULL));
    STOPPED(kd_eom_accelerations(NULL, NULL, NULL, NULL));
    STOPPED(kd_eom_kkt_factor(NULL));
    NOTHING(kd_eom_kkt_solve(NULL, NULL));
    DENIED(kd_eom_fits_mass(NULL));
    STOPPED(kd_eom_mass_and_stiffness(NULL, 0, 0, 0, 1, NULL));
    NEUTRAL(kd_method_is_open(NULL));
    DENIED(kd_eom_implicit_reserve(NULL));
    STOPPED(kd_eom_implicit_set(NULL));
    DENIED(kd_eom_implicit_factor(NULL, 1, 0));
    NOTHING(kd_eom_implicit_solve(NULL, NULL, NULL));
    NEUTRAL(kd_eom_normalise(NULL, NULL));
    NEUTRAL(kd_eom_velocities(NULL, NULL, NULL, NULL));
    NEUTRAL(kd_eom_next_sample(NULL));
    NEUTRAL(kd_eom_next_break(NULL));
    STOPPED(kd_eom_discrete(NULL, NULL));
    STOPPED(kd_eom_event(NULL, NULL, NULL));
    STOPPED(kd_eom_completed(NULL, NULL));
    STOPPED(kd_eom_switch_bounds(NULL, NULL, NULL, NULL, NULL));
    STOPPED(kd_eom_breakaway(NULL, NULL));
    STOPPED(kd_eom_drives(NULL, NULL, NULL, NULL));
    STOPPED(kd_eom_impulses(NULL, NULL, NULL, NULL, NULL, NULL, NULL));
    NEUTRAL(kd_eom_one_sided(NULL, 0));
    NEUTRAL(kd_eom_is_friction(NULL, 0));
    REFUSED(kd_eom_impact(NULL, NULL, NULL, NULL, NULL, NULL));
    STOPPED(kd_eom_derivatives(NULL, (kd_part)0, NULL));
    NEUTRAL(kd_eom_pattern(NULL, (kd_fn)0, (kd_var)0, NULL));
    STOPPED(kd_eom_sparse(NULL, (kd_fn)0, (kd_var)0, (kd_part)0, NULL));
    STOPPED(kd_eom_stiffness(NULL, 0, 0, 0, 0, NULL));
    STOPPED(kd_eom_constraint_matrices(NULL, NULL, NULL));
    NEUTRAL(kd_eom_data_fault(NULL));
    WORDS(kd_eom_data_message(NULL));
    NEUTRAL(kd_eom_data_counters(NULL));
    REFUSED(kd_state_create(NULL, NULL));
    REFUSED(kd_state_copy(NULL, NULL));
    NEUTRAL(kd_state_fits(NULL, NULL));
    NEUTRAL(kd_state_open(NULL, NULL, NULL));
    NOTHING(kd_state_destroy(NULL));
    REFUSED(kd_eom_check(NULL, NULL, NULL, NULL, NULL, 0));
    REFUSED(kd_equilibrium(NULL, NULL, NULL, NULL, NULL, NULL, 0));
    REFUSED(kd_trim(NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, 0));
    REFUSED(kd_explainer_create(NULL, NULL, NULL));
    NOTHING(kd_explainer_destroy(NULL));
    NOTHING(kd_explainer_see(NULL, NULL));
    REFUSED(kd_rainflow(1, NULL, 1, KD_HISTORY_ONCE, NULL, NULL));
    NEUTRAL(kd_cycles_sort(NULL, 1));
    NOTHING(kd_cycles_classify(NULL, 1, 1, NULL));
    NEUTRAL(kd_woehler_is_valid(NULL));
    NEUTRAL(kd_woehler_life(NULL, 1));
    NEUTRAL(kd_miner_sum(NULL, NULL, 1));
    NOTHING(kd_explainer_result(NULL, NULL, NULL, NULL));
    NEUTRAL(kd_explanation_describe(NULL, NULL, 0));
    NEUTRAL(kd_explanation_json(NULL, NULL, 0));
    REFUSED(kd_system_create(NULL, NULL, NULL, NULL, 0));
    NOTHING(kd_system_destroy(NULL));
    NEUTRAL(kd_system_eom(NULL));
    NEUTRAL(kd_system_inputs(NULL));
    NEUTRAL(kd_system_model(NULL));
    REFUSED(kd_system_start(NULL, NULL, NULL, 0));
    REFUSED(kd_system_closure(NULL, NULL, NULL, 0));
    REFUSED(kd_poses_create(NULL, NULL));
    STOPPED(kd_poses_at(NULL, NULL, NULL));
    STOPPED(kd_poses_rates(NULL, NULL, NULL));
    NOTHING(kd_poses_destroy(NULL));
    STOPPED(kd_system_poses(NULL, NULL, NULL));
    STOPPED(kd_system_rates(NULL, NULL, NULL));
    NEUTRAL(kd_simulation_output(NULL, NULL));
    NEUTRAL(kd_simulation_probe(NULL));
    REFUSED(kd_simulation_accelerations(NULL, NULL, NULL));
    REFUSED(kd_probe_create(NULL, NULL, NULL));
    REFUSED(kd_probe_of_system(NULL, NULL, NULL));
    NOTHING(kd_probe_destroy(NULL));
    REFUSED(kd_probe_set(NULL, NULL));
    NEUTRAL(kd_probe_find(NULL, NULL));
    NEUTRAL(kd_probe_count(NULL));
    WORDS(kd_probe_name(NULL, 0));
    WORDS(kd_probe_unit(NULL, 0));
    WORDS(kd_system_unit(NULL, KD_NAME_P, 0));
    NOTHING(kd_probe_group(NULL, (kd_group)0, NULL, NULL));
    NEUTRAL(kd_probe_value(NULL, 0));
    NEUTRAL(kd_probe_read(NULL, NULL));
    NEUTRAL(kd_probe_values(NULL, (kd_group)0));
    REFUSED(kd_probe_energies(NULL, NULL));
    REFUSED(kd_probe_status(NULL));
    WORDS(kd_probe_message(NULL));
    NEUTRAL(kd_probe_counters_of(NULL));
    STOPPED(kd_eom_at_state(NULL, NULL, NULL, KD_STAGE_TIME));
    STOPPED(kd_eom_at_instant(NULL, NULL, 0, NULL));
    NEUTRAL(kd_eom_data_context(NULL));
    NEUTRAL(kd_eom_data_eom(NULL));
    NEUTRAL(kd_eom_data_stage(NULL));
    NEUTRAL(kd_system_info_of(NULL));
    NEUTRAL(kd_system_describe(NULL, NULL, 0));
    NEUTRAL(kd_system_influences(NULL, NULL, 0, NULL, 0));
    NEUTRAL(kd_system_loads_count(NULL));
    WORDS(kd_system_load_name(NULL, 0));
    WORDS(kd_system_load_kind(NULL, 0));
    NEUTRAL(kd_system_stiff(NULL, 0));
    NOTHING(kd_system_set_stiff(NULL, 0, false));
    REFUSED(kd_system_speeds(NULL, NULL, NULL));
    REFUSED(kd_system_choose_stiff(NULL, NULL, 0, 0));
    NEUTRAL(kd_system_operations(NULL, (kd_work_item)0));
    NEUTRAL(kd_formulation_parse(NULL, NULL));
    REFUSED(kd_formulation_create(NULL, NULL, NULL, (kd_formulation)0, NULL, NULL, NULL, 0));
    REFUSED(kd_formulation_structure(NULL, NULL));
    NOTHING(kd_structure_destroy(NULL));
    NOTHING(kd_formulation_pack(NULL, NULL, NULL));
    NOTHING(kd_formulation_unpack(NULL, 0, NULL, NULL));
    REFUSED(kd_initial_consistent(NULL, NULL, NULL, NULL, NULL, 0));
    REFUSED(kd_initial_residuals(NULL, NULL, NULL, NULL));
    REFUSED(kd_initial_residuals_at(NULL, NULL, NULL, NULL, NULL));
    REFUSED(kd_initial_solvable(NULL, NULL, NULL, NULL, NULL, 0));
    REFUSED(kd_linearize(NULL, NULL, NULL, NULL, NULL, NULL, 0));
    NOTHING(kd_linear_destroy(NULL));
    REFUSED(kd_modes_create(NULL, NULL));
    REFUSED(kd_modes_near(NULL, NULL, NULL, 0, 0, NULL, NULL, 0));
    NOTHING(kd_modes_destroy(NULL));
    REFUSED(kd_linear_response(NULL, 0, NULL, NULL, NULL));
    NEUTRAL(kd_at(NULL, 0, 0, 0));
    NEUTRAL(kd_at_axis(NULL, NULL, NULL));
    NEUTRAL(kd_in(NULL, 0, 0, 0));
    NEUTRAL(kd_at_node(NULL, NULL));
    REFUSED(kd_model_create(NULL));
    NOTHING(kd_model_destroy(NULL));
    REFUSED(kd_model_set_title(NULL, NULL));
    REFUSED(kd_model_set_gravity(NULL, NULL));
    REFUSED(kd_model_set_run(NULL, NULL));
    REFUSED(kd_model_add_parameter(NULL, NULL, 0));
    REFUSED(kd_model_add_curve(NULL, NULL, NULL));
    REFUSED(kd_model_add_track(NULL, NULL, NULL));
    REFUSED(kd_model_add_input(NULL, NULL, NULL));
    REFUSED(kd_model_add_body(NULL, NULL, NULL));
    REFUSED(kd_model_add_frame(NULL, NULL, NULL));
    REFUSED(kd_model_add_joint(NULL, NULL, NULL));
    REFUSED(kd_model_add_constraint(NULL, NULL, NULL));
    REFUSED(kd_model_add_force(NULL, NULL, NULL));
    REFUSED(kd_model_add_user_force(NULL, NULL, NULL));
    REFUSED(kd_model_add_state(NULL, NULL, NULL));
    REFUSED(kd_model_add_block(NULL, NULL, NULL));
    REFUSED(kd_model_add_variable(NULL, NULL, NULL));
    REFUSED(kd_model_add_algebraic(NULL, NULL, NULL));
    REFUSED(kd_model_add_event(NULL, NULL, NULL));
    REFUSED(kd_model_add_sensor(NULL, NULL, NULL));
    REFUSED(kd_model_finish(NULL));
    WORDS(kd_model_message(NULL));
    NEUTRAL(kd_model_warning_count(NULL));
    WORDS(kd_model_warning(NULL, 0));
    WORDS(kd_model_title(NULL));
    NEUTRAL(kd_model_run(NULL));
    REFUSED(kd_model_read(NULL, NULL, 0, NULL, NULL, 0));
    REFUSED(kd_model_read_with(NULL, NULL, 0, NULL, 0, NULL, NULL, 0));
    REFUSED(kd_model_read_by(NULL, NULL, NULL, 0));
    REFUSED(kd_model_read_text(NULL, NULL, 0, NULL, 0, NULL, NULL, 0));
    REFUSED(kd_model_write(NULL, NULL, NULL, 0));
    REFUSED(kd_model_write_flat(NULL, NULL, NULL, 0));
    REFUSED(kd_fmu_export(NULL, NULL, NULL, NULL, NULL, 0));
    DENIED(kd_turn_find(NULL, 1, NULL));
    NOTHING(kd_turn_release(NULL, NULL, NULL, NULL, NULL));
    REFUSED(kd_eom_implicit_pair(NULL, 0));
    NEUTRAL(kd_study_has_mpi(NULL, 0));
    REFUSED(kd_study_load(NULL, NULL, NULL, 0));
    NEUTRAL(kd_study_effect(NULL, 0, 0));
    NEUTRAL(kd_study_effect_deviation(NULL, 0, 0));
    NEUTRAL(kd_study_objectives(NULL));
    NEUTRAL(kd_study_objective(NULL, 0, NULL));
    DENIED(kd_study_feasible(NULL, 0));
    NEUTRAL(kd_study_best(NULL, 0));
    NEUTRAL(kd_study_front(NULL, NULL, 0));
    NEUTRAL(kd_study_searches(NULL));
    NEUTRAL(kd_study_search_of(NULL, 0));
    REFUSED(kd_study_save_hdf5(NULL, NULL, NULL, 0));
    REFUSED(kd_cosim_read(NULL, NULL, NULL, 0));
    REFUSED(kd_cosim_read_with(NULL, NULL, 0, NULL, NULL, 0));
    NEUTRAL(kd_study_channels(NULL));
    WORDS(kd_study_channel(NULL, 0));
    REFUSED(kd_study_channel_of(NULL, 0, 0, NULL, NULL, 0, NULL, NULL, 0));
    NEUTRAL(kd_study_reports(NULL, NULL, 0));
    REFUSED(kd_cosim_read_text(NULL, NULL, 0, NULL, NULL, 0));
    NOTHING(kd_cosim_destroy(NULL));
    WORDS(kd_cosim_title(NULL));
    NEUTRAL(kd_cosim_systems(NULL));
    WORDS(kd_cosim_system_name(NULL, 0));
    NEUTRAL(kd_cosim_options_of(NULL));
    REFUSED(kd_cosim_set_options(NULL, NULL, NULL, 0));
    REFUSED(kd_cosim_run(NULL, NULL, 0));
    REFUSED(kd_cosim_start(NULL, NULL, 0));
    REFUSED(kd_cosim_advance(NULL, 1, NULL, 0));
    NEUTRAL(kd_cosim_time(NULL));
    NEUTRAL(kd_cosim_channels(NULL));
    WORDS(kd_cosim_channel(NULL, 0));
    WORDS(kd_cosim_unit(NULL, 0));
    NEUTRAL(kd_cosim_find(NULL, NULL));
    NEUTRAL(kd_cosim_value(NULL, 0));
    NEUTRAL(kd_cosim_read_value(NULL, NULL));
    NEUTRAL(kd_cosim_rows(NULL));
    NEUTRAL(kd_cosim_row_time(NULL, 0));
    NEUTRAL(kd_cosim_row_value(NULL, 0, 0));
    NOTHING(kd_cosim_certify(NULL, NULL));
    REFUSED(kd_cosim_save_csv(NULL, NULL, NULL, 0));
    REFUSED(kd_cosim_save_page(NULL, NULL, NULL, 0));
    REFUSED(kd_model_read_urdf(NULL, NULL, NULL, NULL, 0, NULL, 0));
    REFUSED(kd_model_read_urdf_text(NULL, NULL, 0, NULL, NULL, NULL, 0, NULL, 0));
    REFUSED(kd_realtime_create(NULL, NULL, NULL, NULL, NULL, NULL, 0));
    NOTHING(kd_realtime_destroy(NULL));
    REFUSED(kd_hook_create(NULL, 0, NULL, 0, NULL, NULL, 0));
    NOTHING(kd_hook_destroy(NULL));
    REFUSED(kd_hook_step(NULL, NULL, NULL));
    WORDS(kd_hook_message(NULL));
    REFUSED(kd_hook_defects(NULL, NULL));
    REFUSED(kd_model_add_end(NULL, NULL, NULL));
    REFUSED(kd_realtime_step(NULL, NULL, NULL));
    NEUTRAL(kd_realtime_state(NULL));
    NEUTRAL(kd_realtime_steps(NULL));
    WORDS(kd_realtime_message(NULL));
    NEUTRAL(kd_realtime_seconds(NULL));
    REFUSED(kd_realtime_restore(NULL, NULL));
    REFUSED(kd_realtime_save(NULL, NULL, NULL, 0));
    REFUSED(kd_realtime_go_on(NULL, NULL, NULL, 0));
    REFUSED(kd_simulation_save(NULL, NULL, NULL, 0));
    REFUSED(kd_simulation_restore(NULL, NULL, NULL, 0));
    NOTHING(kd_certifier_ask(NULL, KD_CERTIFICATE_LIGHT, NULL));
    REFUSED(kd_certifier_save(NULL, NULL));
    REFUSED(kd_certifier_restore(NULL, NULL, NULL, 0));
    REFUSED(kd_recorder_save(NULL, NULL));
    REFUSED(kd_recorder_restore(NULL, NULL, NULL, 0));
    REFUSED(kd_saved_of_bytes(NULL, 0, NULL, NULL, 0));
    REFUSED(kd_saved_write(NULL, NULL, NULL, 0));
    REFUSED(kd_saved_read(NULL, NULL, NULL, 0));
    NEUTRAL(kd_saved_bytes(NULL, NULL));
    NEUTRAL(kd_saved_time(NULL));
    NEUTRAL(kd_saved_has(NULL, NULL));
    NOTHING(kd_saved_destroy(NULL));
    NOTHING(kd_dae_archive(NULL, NULL));
    NOTHING(kd_eom_data_archive(NULL, NULL));
    NOTHING(kd_state_archive(NULL, NULL));
    NEUTRAL(kd_realtime_input(NULL, NULL));
    NEUTRAL(kd_realtime_output(NULL, NULL));
    REFUSED(kd_realtime_defects(NULL, NULL));
    REFUSED(kd_realtime_energies(NULL, NULL));
    NEUTRAL(kd_realtime_work_of(NULL));
    NEUTRAL(kd_integrator_parse(NULL, NULL));
    REFUSED(kd_simulation_create(NULL, NULL, NULL, NULL, NULL, NULL, 0));
    REFUSED(kd_simulation_run(NULL, 0));
    REFUSED(kd_simulation_restart(NULL));
    REFUSED(kd_simulation_resume(NULL));
    NEUTRAL(kd_simulation_dae(NULL));
    NEUTRAL(kd_simulation_tolerances(NULL));
    NEUTRAL(kd_simulation_integrator(NULL));
    NEUTRAL(kd_simulation_changes(NULL));
    NEUTRAL(kd_simulation_formulation(NULL));
    NEUTRAL(kd_simulation_verification(NULL));
    NEUTRAL(kd_simulation_not_searched(NULL, 0));
    NEUTRAL(kd_simulation_rank_unwatched(NULL));
    NEUTRAL(kd_simulation_state(NULL));
    NEUTRAL(kd_simulation_step_start(NULL));
    REFUSED(kd_simulation_inside(NULL, 0, NULL));
    NEUTRAL(kd_simulation_stats(NULL));
    NEUTRAL(kd_simulation_events(NULL, (kd_event_kind)0));
    WORDS(kd_simulation_message(NULL));
    WORDS(kd_simulation_choice(NULL));
    NOTHING(kd_simulation_destroy(NULL));
    REFUSED(kd_simulate(NULL, NULL, NULL, NULL, 0, NULL, NULL, 0));
    // clang-format on
    NOTHING(kd_set_allocator(NULL));
}

static bool is_called(const char *name, size_t length)
{
    for (int i = 0; i < ncalled; i++)
        if (strncmp(called[i], name, length) == 0 && called[i][length] == '(') return true;
    return false;
}

// The next declaration with KD_API in a header: its name and whether it has pointers
static const char *next_function(const char *text, const char **name, size_t *length, bool *pointers)
{
    const char *at = strstr(text, "KD_API ");
    if (!at) return NULL;
    const char *end = strchr(at, ';'), *open = at;
    while (open < end && !(*open == '(' && isalnum((unsigned char)open[-1]))) open++;
    const char *first = open;
    while (isalnum((unsigned char)first[-1]) || first[-1] == '_') first--;
    *name = first;
    *length = (size_t)(open - first);
    *pointers = memchr(open, '*', (size_t)(end - open)) != NULL;
    return end;
}

// Every public function with a pointer among its arguments is called above; those without are few.
static void no_function_is_missing(void **state)
{
    int  functions = 0;
    DIR *folder = opendir(KD_SOURCE_DIR "/include/kardan");
    (void)state;
    assert_non_null(folder);
    for (struct dirent *entry = readdir(folder); entry; entry = readdir(folder)) {
        char  path[600];
        char *text = calloc(1, 200000);
        snprintf(path, sizeof path, "%s/include/kardan/%.200s", KD_SOURCE_DIR, entry->d_name);
        FILE *file = strstr(path, ".h") ? fopen(path, "r") : NULL;
        assert_non_null(text);
        if (file) assert_true(fread(text, 1, 199999, file) > 0);
        if (file) fclose(file);
        const char *at = strstr(entry->d_name, "base.h") ? strstr(text, "typedef struct kd_allocator") : text;
        const char *name;
        size_t      length;
        bool        pointers;
        while (at && (at = next_function(at, &name, &length, &pointers))) {
            functions++;
            if (pointers && !is_called(name, length)) fail_msg("%.*s is not called with NULL", (int)length, name);
        }
        free(text);
    }
    closedir(folder);
    assert_true(functions > 250);
}

// ---- a pendulum that calls back -------------------------------------------------------------------------------------

typedef struct pendulum {
    double         length;
    double         broken;     // from this time on the rod is no number
    kd_simulation *simulation; // called from the force
    kd_realtime   *realtime;
    kd_status      answer;
    int            calls;
} pendulum;

static kd_eval mass(const kd_point *x, void *context, double *out)
{
    (void)x, (void)context;
    out[0] = out[3] = 1;
    return KD_EVAL_OK;
}

static kd_eval force(const kd_point *x, void *context, double *out)
{
    pendulum *c = context;
    if (c->simulation) {
        c->answer = kd_simulation_run(c->simulation, x->t + 1);
        assert_int_equal(kd_simulation_restart(c->simulation), KD_ERR_BUSY);
        assert_int_equal(kd_simulation_resume(c->simulation), KD_ERR_BUSY);
        kd_simulation_destroy(c->simulation); // nothing is done
        c->calls++;
    }
    if (c->realtime) {
        c->answer = kd_realtime_step(c->realtime, NULL, NULL);
        kd_realtime_destroy(c->realtime);
        c->calls++;
    }
    out[0] = 0;
    out[1] = -9.81;
    return KD_EVAL_OK;
}

static kd_eval rod(const kd_point *x, void *context, double *out)
{
    const pendulum *c = context;
    out[0] = x->t >= c->broken ? NAN : x->p[0] * x->p[0] + x->p[1] * x->p[1] - c->length * c->length;
    return KD_EVAL_OK;
}

static const char *name(kd_kind kind, int i, void *context)
{
    (void)i, (void)context;
    return kind == KD_NAME_LAMBDA ? "rope" : NULL;
}

static kd_eom *make(pendulum *c, int extra)
{
    kd_eom    *eom;
    kd_eom_def def = kd_eom_def_default();
    def.dims = (kd_dims){.np = 2, .nv = 2, .nlambda = 1, .nz = extra};
    def.context = c;
    def.M = mass;
    def.f = force;
    def.g = rod;
    def.name = name;
    assert_int_equal(kd_eom_create(&def, &eom, NULL, 0), KD_OK);
    return eom;
}

static kd_state *start(const kd_eom *eom)
{
    kd_state *x;
    assert_int_equal(kd_state_create(eom, &x), KD_OK);
    x->p[0] = 1;
    x->v[1] = 0.5;
    return x;
}

// The motion is that of a run whose force does not call.
static void simulation_refuses_its_own_callbacks(void **state)
{
    char message[500];
    (void)state;
    for (int integrator = 0; integrator < KD_INTEGRATOR_COUNT; integrator++) {
        double   p[2][2];
        pendulum c = {.length = 1, .broken = HUGE_VAL};
        kd_eom  *eom = make(&c, 0);
        for (int k = 0; k < 2; k++) {
            kd_simulation        *s;
            kd_state             *x = start(eom);
            kd_simulation_options opt = kd_simulation_options_default();
            opt.integrator = (kd_integrator_kind)integrator;
            opt.formulation = integrator == KD_BDF || integrator == KD_IDA ? KD_GGL
                              : integrator == KD_RADAU                     ? KD_PSF
                                                                           : KD_ODE;
            if (integrator == KD_SDIRK) opt.formulation = KD_STATESPACE;
            if (kd_simulation_create(eom, NULL, &opt, x, &s, message, sizeof message) == KD_ERR_UNAVAILABLE) {
                kd_state_destroy(x);
                p[k][0] = p[k][1] = 0;
                continue;
            }
            if (k == 1) c.simulation = s;
            assert_true(kd_simulation_run(s, 0.5) >= 0);
            if (k == 1) assert_int_equal(c.answer, KD_ERR_BUSY);
            if (k == 1) assert_true(c.calls > 10);
            c.simulation = NULL;
            memcpy(p[k], x->p, sizeof p[k]);
            kd_simulation_destroy(s);
            kd_state_destroy(x);
        }
        assert_memory_equal(p[0], p[1], sizeof p[0]);
        kd_eom_destroy(eom);
    }
}

static kd_eval call_from_output(const kd_state *x, bool at_time, void *context)
{
    pendulum *c = context;
    (void)at_time;
    if (c->simulation) c->answer = kd_simulation_run(c->simulation, x->t + 1);
    return KD_EVAL_OK;
}

static void output_functions_are_refused_as_well(void **state)
{
    pendulum              c = {.length = 1, .broken = HUGE_VAL}, quiet = c;
    kd_simulation        *s;
    kd_eom               *eom = make(&quiet, 0);
    kd_state             *x = start(eom);
    kd_simulation_options opt = kd_simulation_options_default();
    (void)state;
    opt.output = call_from_output;
    opt.context = &c;
    assert_int_equal(kd_simulation_create(eom, NULL, &opt, x, &s, NULL, 0), KD_OK);
    c.simulation = s;
    assert_int_equal(kd_simulation_run(s, 0.3), KD_OK);
    assert_int_equal(c.answer, KD_ERR_BUSY);
    assert_true(x->t == 0.3);
    kd_simulation_destroy(s);
    kd_state_destroy(x);
    kd_eom_destroy(eom);
}

static void real_time_refuses_its_own_callbacks(void **state)
{
    pendulum            c = {.length = 1, .broken = HUGE_VAL};
    kd_realtime        *rt;
    kd_eom             *eom = make(&c, 0);
    kd_state           *x = start(eom);
    kd_realtime_options opt = kd_realtime_options_default();
    (void)state;
    opt.h = 1e-3;
    assert_true(kd_realtime_create(eom, NULL, &opt, x, &rt, NULL, 0) >= 0);
    c.realtime = rt;
    for (int i = 0; i < 10; i++) assert_int_equal(kd_realtime_step(rt, NULL, NULL), KD_OK);
    assert_int_equal(c.answer, KD_ERR_BUSY);
    assert_int_equal(kd_realtime_steps(rt), 10);
    c.realtime = NULL;
    kd_realtime_destroy(rt);
    kd_state_destroy(x);
    kd_eom_destroy(eom);
}

// ---- states of other equations --------------------------------------------------------------------------------------

static void states_of_other_equations_are_errors(void **state)
{
    pendulum       c = {.length = 1, .broken = HUGE_VAL};
    kd_eom        *eom = make(&c, 0), *other = make(&c, 3);
    kd_state      *x = start(eom), *y = start(other);
    kd_simulation *s;
    kd_realtime   *rt;
    kd_dae        *dae;
    kd_linear     *linear;
    kd_certifier  *certifier;
    kd_consistency found;
    char           message[300];
    (void)state;
    assert_int_equal(kd_state_copy(x, y), KD_ERR_ARGUMENT);
    assert_true(kd_state_fits(eom, x) && !kd_state_fits(eom, y) && !kd_state_fits(other, x));
    assert_int_equal(kd_simulation_create(eom, NULL, NULL, y, &s, message, sizeof message), KD_ERR_ARGUMENT);
    assert_non_null(strstr(message, "other equations"));
    assert_int_equal(kd_realtime_create(eom, NULL, NULL, y, &rt, message, sizeof message), KD_ERR_ARGUMENT);
    assert_non_null(strstr(message, "other equations"));
    assert_int_equal(kd_initial_consistent(eom, NULL, NULL, y, message, sizeof message), KD_ERR_ARGUMENT);
    assert_int_equal(kd_initial_residuals(eom, NULL, y, &found), KD_ERR_ARGUMENT);
    assert_int_equal(kd_equilibrium(eom, NULL, NULL, y, NULL, message, sizeof message), KD_ERR_ARGUMENT);
    assert_int_equal(kd_linearize(eom, NULL, NULL, y, &linear, message, sizeof message), KD_ERR_ARGUMENT);
    assert_int_equal(kd_formulation_create(eom, NULL, y, KD_PSF, NULL, &dae, message, sizeof message), KD_ERR_ARGUMENT);
    assert_int_equal(kd_eom_check(eom, NULL, y, NULL, message, sizeof message), KD_ERR_ARGUMENT);
    assert_int_equal(kd_certifier_create(eom, NULL, &certifier), KD_OK);
    assert_int_equal(kd_certifier_see(certifier, NULL, y), KD_ERR_ARGUMENT);
    kd_certifier_destroy(certifier);
    kd_state_destroy(x);
    kd_state_destroy(y);
    kd_eom_destroy(eom);
    kd_eom_destroy(other);
}

// ---- constraints that are no numbers --------------------------------------------------------------------------------

static void constraints_that_become_nan_are_told(void **state)
{
    static const struct {
        kd_formulation     formulation;
        kd_integrator_kind integrator;
    } way[] = {{KD_PSF, KD_RADAU},  {KD_PSF1, KD_RADAU}, {KD_GGL, KD_BDF},
               {KD_INDEX1, KD_BDF}, {KD_ODE, KD_DOP853}, {KD_STATESPACE, KD_SDIRK}};
    (void)state;
    for (size_t k = 0; k < sizeof way / sizeof *way; k++) {
        pendulum              c = {.length = 1, .broken = 0.3 + 0.02 * (double)k};
        char                  message[1000];
        kd_eom               *eom = make(&c, 0);
        kd_state             *x = start(eom);
        kd_simulation_options opt = kd_simulation_options_default();
        opt.formulation = way[k].formulation;
        opt.integrator = way[k].integrator;
        kd_status status = kd_simulate(eom, NULL, &opt, x, 1, NULL, message, sizeof message);
        if (status != KD_ERR_NOT_FINITE || !strstr(message, "rope") || !strstr(message, "NaN"))
            print_message("%s %s: %d %s\n", kd_formulation_word(way[k].formulation),
                          kd_integrator_word(way[k].integrator), status, message);
        assert_int_equal(status, KD_ERR_NOT_FINITE);
        assert_non_null(strstr(message, "rope"));
        assert_non_null(strstr(message, "NaN"));
        assert_true(x->t <= c.broken && x->t > c.broken - 0.2);
        kd_state_destroy(x);
        kd_eom_destroy(eom);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(null_is_refused_everywhere),           cmocka_unit_test(no_function_is_missing),
        cmocka_unit_test(simulation_refuses_its_own_callbacks), cmocka_unit_test(output_functions_are_refused_as_well),
        cmocka_unit_test(real_time_refuses_its_own_callbacks),  cmocka_unit_test(states_of_other_equations_are_errors),
        cmocka_unit_test(constraints_that_become_nan_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
