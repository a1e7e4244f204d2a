// runtime/foreign.c: an FMU loads no foreign code: blocks that want it are refused when the model is read.
#include "foreign/continuous.h"

#include "core/text.h"

static kd_status refuse_foreign(kd_foreign **unit, char *message, size_t size)
{
    *unit = NULL;
    kd_text(message, size, "foreign code (fmu, library) cannot run inside of an FMU");
    return KD_ERR_UNSUPPORTED;
}

kd_status kd_foreign_open_fmu(const kd_foreign_setup *setup, kd_foreign **unit, char *message, size_t size)
{
    (void)setup;
    return refuse_foreign(unit, message, size);
}

kd_status kd_foreign_open_library(const kd_foreign_setup *setup, kd_foreign **unit, char *message, size_t size)
{
    (void)setup;
    return refuse_foreign(unit, message, size);
}

kd_status kd_continuous_open(const kd_foreign_setup *setup, kd_continuous **unit, char *message, size_t size)
{
    (void)setup;
    *unit = NULL;
    return refuse_foreign(&(kd_foreign *){NULL}, message, size);
}
