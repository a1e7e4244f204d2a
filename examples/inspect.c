// inspect.c: what a model consists of: bodies with what carries them, joints with coordinates, forces, parameters, and
// everything that can be read of an element. Usage: inspect models/slider-crank.yaml hinge
#include <kardan/kardan.h>
#include <stdio.h>

static void list_bodies(const kd_model *m, const kd_system *system)
{
    for (int i = 0; i < kd_model_count(m, KD_SECTION_BODY); i++) {
        kd_carrier on = kd_system_carrier(system, i);
        printf("body %s: %.6g kg on %s, %d shapes\n", kd_model_name(m, KD_SECTION_BODY, i),
               kd_model_body_def(m, i)->mass, on.joint < 0 ? "nothing" : kd_model_name(m, KD_SECTION_JOINT, on.joint),
               kd_model_body_def(m, i)->nshapes);
    }
}

static void list_joints(const kd_model *m)
{
    for (int i = 0; i < kd_model_count(m, KD_SECTION_JOINT); i++) {
        printf("joint %s: %s", kd_model_name(m, KD_SECTION_JOINT, i), kd_model_about(m, KD_SECTION_JOINT, i).kind);
        for (int k = 0; k < kd_model_coordinates(m, i); k++)
            printf(", %s in %s", kd_model_coordinate(m, i, k).name, kd_model_coordinate(m, i, k).unit);
        printf("\n");
    }
}

static void list_paths(const kd_model *m, kd_section section, int i)
{
    char         path[200];
    kd_path_info info;
    for (int k = 0; i >= 0 && kd_model_path(m, section, i, k, path, sizeof path) > 0; k++)
        if (kd_model_path_about(m, path, &info, NULL, 0) == KD_OK) printf("%s [%s]\n", path, info.unit);
}

int main(int argc, char **argv)
{
    kd_model  *model = NULL;
    kd_system *system = NULL;
    char       message[1000] = "";
    if (argc != 3) return fprintf(stderr, "usage: inspect MODEL ELEMENT\n"), 2;
    kd_status status = kd_model_read(argv[1], NULL, 0, &model, message, sizeof message);
    if (status >= 0) status = kd_system_create(model, NULL, &system, message, sizeof message);
    if (status >= 0) {
        list_bodies(model, system);
        list_joints(model);
        // all other sections have the same questions
        for (int s = 0; s < KD_SECTION_COUNT; s++) {
            int n = kd_model_count(model, (kd_section)s);
            if (n > 0)
                printf("%s: %d, first %s\n", kd_section_word((kd_section)s), n, kd_model_name(model, (kd_section)s, 0));
            list_paths(model, (kd_section)s, kd_model_find(model, (kd_section)s, argv[2]));
        }
    }
    if (status < 0) fprintf(stderr, "%s: %s\n", kd_status_sentence(status), message);
    kd_system_destroy(system);
    kd_model_destroy(model);
    return status < 0;
}
