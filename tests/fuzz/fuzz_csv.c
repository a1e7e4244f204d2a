// tests/fuzz/fuzz_csv.c: any bytes as a file of comma-separated values; the first byte says whether it is a grid.
//
// Whatever is read: a refusal says the file and why; what is accepted has finite numbers, as many as rows times columns, and lines
// that rise.
#include "fuzz/fuzz.h"

#include <math.h>
#include <string.h>

#include "modelfile/csv.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char         message[400] = "";
    kd_csv_table t;
    if (size == 0) return 0;
    char *copy = kd_alloc(size); // with a zero byte behind it, as a file has
    demand(copy);
    memcpy(copy, data + 1, size - 1);
    const kd_status status = kd_csv_parse("a.csv", copy, size - 1, data[0] % 2, &t, message, sizeof message);
    kd_free(copy);
    if (status != KD_OK) {
        demand(status == KD_ERR_MODEL && strncmp(message, "a.csv:", 6) == 0 && !t.number);
        return 0;
    }
    demand(t.rows > 0 && t.columns > 0 && message[0] == '\0');
    for (int i = 0; i < t.rows; i++) {
        demand(t.line[i] > (i > 0 ? t.line[i - 1] : 0));
        for (int j = 0; j < t.columns; j++) demand(isfinite(t.number[(size_t)i * (size_t)t.columns + (size_t)j]));
    }
    // the first column, or a name: refused with a reason where two columns have it
    demand(kd_csv_column("a.csv", &t, "1", message, sizeof message) >= 0 || message[0]);
    (void)kd_csv_column("a.csv", &t, "height", message, sizeof message);
    kd_csv_release(&t);
    return 0;
}
