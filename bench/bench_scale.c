// bench_scale.c: the default on models of many bodies, and beside every other method: growth of the time of a step,
// set-up, memory, the default against the best method at the same error, the share of the certificate, MuJoCo beside it.
#include <stdlib.h>
#include <string.h>

#include "scale.h"

int main(int argc, char **argv)
{
    int    exit_status;
    bench *b =
        bench_create(argc, argv, "The default on models of many bodies, and beside every other method.", &exit_status);
    if (!b) return exit_status;
    bench_head(b);
    scale_growth(b);
    scale_large(b);
    scale_default(b);
    scale_certificate(b);
    scale_mujoco(b);
    return bench_end(b);
}
