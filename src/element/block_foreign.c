// block_foreign.c: sampled blocks of foreign code: an FMU that goes on from sample to sample with its inputs held, a controller in a
// shared object.
//
// At sample k an FMU first goes from t_(k-1) to t_k with the inputs of sample k - 1, then gets the inputs of t_k and tells its
// outputs: y_k = h(x(t_k), u_k). A controller in a shared object computes y_k from u_k and its own states. The only state in
// z is n, the number of samples so far.
//
// Without period an FMU of model exchange is a part of the equations of motion (unit.c).
#include <math.h>

#include "core/text.h"
#include "element/block.h"
#include "foreign/continuous.h"
#include "model/fields.h"

static const char *const STATES[] = {"n", NULL};
static const char *const KINDS[] = {"any", "cs", "me", NULL};

static kd_eval sample(const kd_sampler *b, kd_work *w, double t, const double *u, const double *z, double *y,
                      double *z_new)
{
    (void)w;
    if (kd_foreign_sample(b->unit, z[0], t, u, y) < 0) return KD_EVAL_RETRY; // with a reason
    z_new[0] = z[0] + 1;
    return KD_EVAL_OK;
}

static void set(kd_sampler *b)
{
    kd_foreign_change(b->unit, b->block->def.period, b->block->def.parameter);
    if (b->continuous) b->continuous->class->change(b->continuous, b->block->def.parameter);
}

static void count(kd_block_def *def)
{
    def->nstates = !kd_block_is_continuous(def);
    def->start[0] = 0;
}

static bool check(kd_model *m, const char *name, const kd_block_def *def)
{
    if (def->noutputs > 0) return true;
    kd_model_refuse(m, KD_SECTION_BLOCK, name, "output", "it has no outputs");
    return false;
}

static bool check_fmu(kd_model *m, const char *name, const kd_block_def *def)
{
    if (!check(m, name, def)) return false;
    for (int i = 0; i < def->ninputs; i++)
        if (!def->input_name[i]) {
            kd_model_refuse(m, KD_SECTION_BLOCK, name, "input",
                            "inputs of an FMU have names: write `input: {NAME: expression}`");
            return false;
        }
    // a continuous one: nothing that belongs to samples
    if (!isnan(def->period)) return true;
    if (def->offset != 0) {
        kd_model_refuse(m, KD_SECTION_BLOCK, name, "offset", "without period it is not sampled and has no offset");
        return false;
    }
    for (int i = 0; i < def->noutputs; i++)
        if (def->start_output[i] != 0) {
            kd_model_refuse(m, KD_SECTION_BLOCK, name, "start_output",
                            "without period it is not sampled: its outputs are there from the start on");
            return false;
        }
    return true;
}

// message with file, line and element
static kd_status refuse_foreign(const kd_block_builder *b, kd_status status, const char *why)
{
    const kd_block *block = b->sampler->block;
    kd_text(b->message, b->size, "%s", "");
    if (block->source.file) kd_text_append(b->message, b->size, "%s:%d: ", block->source.file, block->source.line);
    kd_text_append(b->message, b->size, "block '%s': %s: %s", block->name, block->def.file, why);
    return status;
}

static kd_foreign_setup setup_of(const kd_block_builder *b)
{
    const kd_block_def      *def = &b->sampler->block->def;
    const kd_system_options *opt = &b->s->options;
    return (kd_foreign_setup){
        .block = b->sampler->block->name,
        .path = def->path ? def->path : def->file,
        .ninputs = def->ninputs,
        .noutputs = def->noutputs,
        .nparameters = def->nparameters,
        .input_name = def->input_name,
        .output_name = def->output_name,
        .parameter_name = def->parameter_name,
        .parameter = def->parameter,
        .exchange = def->foreign_kind == KD_FOREIGN_EXCHANGE,
        .cosimulation = def->foreign_kind == KD_FOREIGN_COSIMULATION,
        .in_process = opt->fmu_in_process,
        .timeout = opt->fmu_timeout,
        .tolerance = def->tolerance,
        .period = def->period,
        .arguments = def->arguments,
    };
}

static kd_status make_fmu(kd_block_builder *b)
{
    char                   why[KD_FOREIGN_MESSAGE] = "";
    const kd_foreign_setup setup = setup_of(b);
    const kd_status        status = kd_foreign_open_fmu(&setup, &b->sampler->unit, why, sizeof why);
    return status < 0 ? refuse_foreign(b, status, why) : KD_OK;
}

kd_status kd_block_open_continuous(kd_block_builder *b)
{
    char                   why[KD_FOREIGN_MESSAGE] = "";
    const kd_foreign_setup setup = setup_of(b);
    const kd_status        status = kd_continuous_open(&setup, &b->sampler->continuous, why, sizeof why);
    return status < 0 ? refuse_foreign(b, status, why) : KD_OK;
}

static kd_status make_library(kd_block_builder *b)
{
    char                   why[KD_FOREIGN_MESSAGE] = "";
    const kd_foreign_setup setup = setup_of(b);
    if (!b->s->options.libraries)
        return refuse_foreign(
            b, KD_ERR_ARGUMENT,
            "a shared object can do whatever its user may; --load-libraries (kd_system_options.libraries) allows it");
    const kd_status status = kd_foreign_open_library(&setup, &b->sampler->unit, why, sizeof why);
    return status < 0 ? refuse_foreign(b, status, why) : KD_OK;
}

// clang-format off
#define O(member) offsetof(kd_block_def, member)
#define FILE_OF(words) {"file", KD_FIELD_TEXT, O(file), 1, ALL, KD_FIELD_REQUIRED | KD_FIELD_FILE, 0, ANY, "", .second = O(path), .doc = words}
static const kd_field fmu_fields[] = {
    {"period", KD_FIELD_NUMBER, O(period), 1, ALL, KD_FIELD_MAYBE, NAN, POSITIVE, "s",
     .doc = "time between two samples; not given: a unit of model exchange is not sampled, its states and events are those of the model"},
    {"offset", KD_FIELD_NUMBER, O(offset), 1, ALL, 0, 0, ANY, "s",
     .doc = "time of the first sample"},
    FILE_OF("the FMU (.fmu), beside the model"),
    {"kind", KD_FIELD_WORD, O(foreign_kind), 1, ALL, 0, KD_FOREIGN_ANY, ANY, "",
     .doc = "co-simulation (cs) or model exchange (me), integrated from sample to sample; any: what it has, cs first", .words = KINDS},
    {"input", KD_FIELD_SIGNALS, O(input), KD_MAX_SIGNALS, ALL, KD_FIELD_NAMED, 0, ANY, "",
     .doc = "inputs of the FMU by their names: expressions of any paths, held until the next sample", .length = O(ninputs), .second = O(input_name)},
    {"output", KD_FIELD_PATHS, O(output_name), KD_MAX_SIGNALS, ALL, KD_FIELD_REQUIRED | KD_FIELD_OWN, 0, ANY, "",
     .doc = "names of its variables that are read", .length = O(noutputs)},
    {"parameters", KD_FIELD_TERMS, O(parameter_name), KD_MAX_SIGNALS, ALL, KD_FIELD_OWN, 0, ANY, "",
     .doc = "values of its parameters, and of inputs that stay as they are: `{gain: 2}`", .length = O(nparameters), .second = O(parameter)},
    {"tolerance", KD_FIELD_NUMBER, O(tolerance), 1, ALL, KD_FIELD_MAYBE, NAN, POSITIVE, "",
     .doc = "relative tolerance of model exchange, told to the FMU; not given: as its description says"},
    KD_BLOCK_START_OUTPUTS,
};
static const kd_field library_fields[] = {
    KD_BLOCK_TIMES,
    FILE_OF("the shared object, beside the model"),
    {"input", KD_FIELD_SIGNALS, O(input), KD_MAX_SIGNALS, ALL, 0, 0, ANY, "",
     .doc = "expressions of any paths, in the order in which the controller reads them", .length = O(ninputs), .second = O(input_name)},
    {"output", KD_FIELD_PATHS, O(output_name), KD_MAX_SIGNALS, ALL, KD_FIELD_REQUIRED | KD_FIELD_OWN, 0, ANY, "",
     .doc = "names for its outputs, in their order", .length = O(noutputs)},
    {"arguments", KD_FIELD_TEXT, O(arguments), 1, ALL, 0, 0, ANY, "",
     .doc = "a text for the controller"},
    KD_BLOCK_START_OUTPUTS,
};
// clang-format on

const kd_block_class kd_block_fmu = {
    .element =
        {
            .element =
                {
                    .kind = {"fmu", "a Functional Mock-up Unit, FMI 2.0 or 3.0, that goes on from sample to sample, or "
                                    "with the model"},
                    .fields = fmu_fields,
                    .nfields = COUNT(fmu_fields),
                },
            .check = check_fmu,
            .count = count,
            .states = STATES,
            .foreign = true,
        },
    .make = make_fmu,
    .set = set,
    .sample = sample,
};

const kd_block_class kd_block_library = {
    .element =
        {
            .element =
                {
                    .kind = {"library", "a controller in a shared object (kardan/controller.h)"},
                    .fields = library_fields,
                    .nfields = COUNT(library_fields),
                },
            .check = check,
            .count = count,
            .states = STATES,
            .foreign = true,
        },
    .make = make_library,
    .set = set,
    .sample = sample,
};
