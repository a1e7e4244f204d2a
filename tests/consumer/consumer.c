// consumer.c: smallest program that uses an installed kardan: prints its version and asks for one object.
#include <kardan/kardan.h>
#include <stdio.h>

int main(void)
{
    kd_eom_def def = kd_eom_def_default();
    kd_eom    *eom = NULL;
    char       message[200] = "";
    def.dims.np = def.dims.nv = 1; // but neither masses nor forces
    kd_status status = kd_eom_create(&def, &eom, message, sizeof message);

    printf("kardan %s\n", kd_version());
    printf("incomplete equations: %s\n", kd_status_name(status));
    kd_eom_destroy(eom);
    return status < 0 ? 0 : 1;
}
