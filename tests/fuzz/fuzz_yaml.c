// tests/fuzz/fuzz_yaml.c: any bytes as a model file.
//
// Whatever is read: a refusal says the file and why, in at most 21 lines; an accepted model can be written.
#include <kardan/model.h>

#include "fuzz/fuzz.h"

static int count_lines(const char *text)
{
    int lines = 1;
    for (; *text; text++) lines += *text == '\n';
    return lines;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char     message[1 << 14];
    kd_setting      settings[] = {{"N", "2"}};
    char           *text = text_of(data, size);
    kd_model       *m = NULL;
    const bool      set = strstr(text, "N:") != NULL; // only a parameter that is there can be set
    const kd_status status =
        kd_model_read_text("fuzz.yaml", text, size, settings, set ? 1 : 0, &m, message, sizeof message);
    demand(memchr(message, '\0', sizeof message));
    if (status == KD_OK) {
        demand(m && message[0] == '\0');
        for (int i = 0; i < kd_model_warning_count(m); i++) demand(kd_model_warning(m, i)[0]);
        demand(kd_model_write(m, "/dev/null", message, sizeof message) == KD_OK);
    } else {
        demand(status == KD_ERR_MODEL && !m);
        demand(strncmp(message, "fuzz.yaml:", 10) == 0 && count_lines(message) <= 21);
    }
    kd_model_destroy(m);
    free(text);
    return 0;
}
