// Variable-step, variable-order BDF with fixed leading coefficient for 0 = F(t, x, x').
#include <kardan/bdf.h>

#include "core/text.h"

kd_bdf_options kd_bdf_options_default(void)
{
    return (kd_bdf_options){
        .rtol = 1e-6,
        .atol = 1e-6,
        .order_max = 5,
        .max_steps = 100000,
        .max_newton = 4,
        .newton_stop = 0.33,
        .cj_lower = 0.6,
        .cj_upper = 1.667,
    };
}

kd_status kd_bdf_create(kd_dae *dae, const kd_bdf_options *opt, kd_bdf **bdf, char *message, size_t size)
{
    (void)dae, (void)opt;
    *bdf = NULL;
    kd_text(message, size, "bdf is not there yet; use ida with ggl");
    return KD_ERR_UNSUPPORTED;
}
kd_status kd_bdf_start(kd_bdf *bdf, double t, const double *x, bool keep_matrix)
{
    (void)bdf, (void)t, (void)x, (void)keep_matrix;
    return KD_ERR_UNSUPPORTED;
}
kd_status kd_bdf_step(kd_bdf *bdf, double t_end)
{
    (void)bdf, (void)t_end;
    return KD_ERR_UNSUPPORTED;
}
double kd_bdf_time(const kd_bdf *bdf)
{
    (void)bdf;
    return 0;
}
double kd_bdf_time_old(const kd_bdf *bdf)
{
    (void)bdf;
    return 0;
}
const double *kd_bdf_x(const kd_bdf *bdf)
{
    (void)bdf;
    return NULL;
}
kd_status kd_bdf_dense(kd_bdf *bdf, double t, double *x)
{
    (void)bdf, (void)t, (void)x;
    return KD_ERR_UNSUPPORTED;
}
kd_stats kd_bdf_stats(const kd_bdf *bdf)
{
    (void)bdf;
    return (kd_stats){0};
}
const char *kd_bdf_message(const kd_bdf *bdf)
{
    (void)bdf;
    return "";
}
void kd_bdf_destroy(kd_bdf *bdf)
{
    (void)bdf;
}
