// rows_of_events.c: equations without constraints that come and go.
#include "simulation/rows_of_events.h"

kd_status kd_event_rows_create(const kd_eom *eom, const kd_inputs *inputs, const kd_event_options *opt,
                               kd_event_rows **rows)
{
    (void)eom, (void)inputs, (void)opt;
    *rows = NULL;
    return KD_OK;
}

void kd_event_rows_destroy(kd_event_rows *rows)
{
    (void)rows;
}

int kd_event_rows_count(const kd_event_rows *rows)
{
    (void)rows;
    return 0;
}

kd_eval kd_event_rows_values(kd_event_rows *rows, kd_eom_data *d, const kd_state *x, double *out)
{
    (void)rows, (void)d, (void)x, (void)out;
    return KD_EVAL_OK;
}

kd_status kd_event_rows_start(kd_event_rows *rows, kd_state *x, char *message, size_t size)
{
    (void)rows, (void)x, (void)message, (void)size;
    return KD_OK;
}

kd_status kd_event_rows_instant(kd_event_rows *rows, kd_state *x, const signed char *crossed, signed char *side,
                                kd_event_teller tell, void *context, char *message, size_t size)
{
    (void)rows, (void)x, (void)crossed, (void)side, (void)tell, (void)context, (void)message, (void)size;
    return KD_OK;
}

const char *kd_event_rows_name(const kd_event_rows *rows, int i, char *buffer, size_t size)
{
    (void)rows, (void)i, (void)size;
    return buffer;
}
