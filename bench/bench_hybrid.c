// bench_hybrid.c: what instants cost: the truck with a controller that is sampled every millisecond beside the same
// controller as a continuous law (S1 section 3), samples at 200 Hz, events of a bouncing ball; peer: SUNDIALS IDA,
// which begins again at every sample.
#include "hybrid.h"
#include <stdlib.h>

int main(int argc, char **argv)
{
    int    exit_status;
    bench *b = bench_create(argc, argv, "What samples and events cost.", &exit_status);
    if (!b) return exit_status;
    bench_head(b);
    hybrid_sampled(b);
    hybrid_events(b);
    return bench_end(b);
}
