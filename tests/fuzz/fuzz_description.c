// tests/fuzz/fuzz_description.c: any bytes as modelDescription.xml.
//
// Whatever is read: a refusal says why; an accepted one has a version, a token, an interface, and links that are there.
#include "fmi/fmu_file.h"

#include "fuzz/fuzz.h"

static void hear(int line, bool fatal, const char *sentence, void *context)
{
    (void)fatal;
    demand(line >= 0 && sentence[0]);
    ++*(int *)context;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char               message[400] = "", *text = text_of(data, size);
    int                findings = 0;
    kd_arena           arena = {0};
    kd_fmi_description d;
    const kd_status status = kd_fmi_description_read(text, size, &arena, &d, hear, &findings, message, sizeof message);
    if (status < 0)
        demand(message[0] || status == KD_ERR_MEMORY);
    else {
        demand((d.version == 2 || d.version == 3) && d.token && *d.token);
        demand(d.exchange.identifier || d.cosimulation.identifier || d.scheduled);
        for (int i = 0; i < d.nvariables; i++) {
            const kd_fmi_variable *v = d.variable + i;
            demand(v->name && *v->name && v->derivative < d.nvariables && (int)v->type < KD_FMI_TYPE_COUNT);
            demand(*kd_causality_word(v->causality) && *kd_variability_word(v->variability));
        }
    }
    kd_arena_release(&arena);
    free(text);
    return 0;
}
