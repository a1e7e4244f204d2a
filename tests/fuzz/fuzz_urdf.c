// tests/fuzz/fuzz_urdf.c: any bytes as a robot description.
//
// Whatever is read: a refusal says the file and why; an accepted model is finished, and its report has no lost line.
#include <kardan/model.h>
#include <stdio.h>

#include "fuzz/fuzz.h"

static kd_status read_robot(const char *text, size_t size, const kd_urdf_options *opt)
{
    static char     report[1 << 16], message[4096];
    kd_model       *m = NULL;
    const kd_status status =
        kd_model_read_urdf_text("fuzz.urdf", text, size, opt, &m, report, sizeof report, message, sizeof message);
    demand(memchr(report, '\0', sizeof report) && memchr(message, '\0', sizeof message));
    if (status == KD_OK) {
        demand(m && message[0] == '\0' && strncmp(report, "robot '", 7) == 0);
        demand(strstr(report, "root link '") || strlen(report) + 1 == sizeof report);
        for (int i = 0; i < kd_model_warning_count(m); i++) demand(kd_model_warning(m, i)[0]);
    } else {
        demand(status == KD_ERR_MODEL || status == KD_ERR_UNAVAILABLE);
        demand(!m && strncmp(message, "fuzz.urdf:", 10) == 0);
    }
    kd_model_destroy(m);
    return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    kd_urdf_options opt = kd_urdf_options_default();
    char           *text = text_of(data, size);
    read_robot(text, size, &opt);
    opt.free_base = true;
    opt.limit_stiffness = 1e4;
    read_robot(text, size, &opt);
    free(text);
    return 0;
}
