// tests/fuzz/fuzz_surface.c: any bytes as an STL or OBJ file; the first byte chooses.
//
// Whatever is read: a refusal says the file and why; what is accepted has triangles with area between existing vertices, and can be
// checked, measured and thinned.
#include "fuzz/fuzz.h"

#include <math.h>
#include <string.h>

#include "surface/surface.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char       message[400] = "", words[300];
    kd_surface s, thin;
    if (size == 0) return 0;
    const char *path = data[0] % 2 ? "a.obj" : "a.stl";
    char       *copy = kd_alloc(size); // with a zero byte behind it, as a file has
    demand(copy);
    memcpy(copy, data + 1, size - 1);
    const kd_status status = kd_surface_parse(path, copy, size - 1, 1.0, &s, message, sizeof message);
    kd_free(copy);
    if (status != KD_OK) {
        demand(status == KD_ERR_FILE && strncmp(message, path, strlen(path)) == 0 && !s.vertex);
        return 0;
    }
    kd_surface_faults faults;
    demand(s.ntriangles > 0 && s.nvertices > 2);
    for (int i = 0; i < s.ntriangles; i++) {
        const kd_triangle t = s.triangle[i];
        demand(t.a >= 0 && t.b >= 0 && t.c >= 0 && t.a < s.nvertices && t.b < s.nvertices && t.c < s.nvertices);
    }
    demand(kd_surface_check(&s, &faults) == KD_OK);
    demand((kd_surface_faults_words(&faults, words, sizeof words)[0] == '\0') ==
           (kd_surface_is_closed(&faults) && !faults.inside_out));
    const kd_surface_moments m = kd_surface_moments_of(&s);
    demand(m.area >= 0.0 || isnan(m.area));
    demand(kd_surface_thin(&s, 10, &thin) == KD_OK);
    kd_surface_release(&thin);
    kd_surface_release(&s);
    return 0;
}
