// urdf.h: what the files of the importer of robot descriptions share: urdf.c, urdf_text.c, urdf_parts.c
#ifndef KARDAN_MODELFILE_URDF_H
#define KARDAN_MODELFILE_URDF_H

#include "model/build.h"
#include "modelfile/xml.h"

typedef struct kd_urdf_link {
    const kd_xml_element *xml;
    const char           *name;  // in the file
    const char           *body;  // in the model
    int                   joint; // that carries it; -1: root
    kd_vec3               r;     // pose in the world at coordinates 0
    kd_mat3               R;
    bool                  placed;
    kd_mass               mass;  // own, in the link's frame
    bool                  inert; // nothing behind it has mass or inertia, nor it itself
} kd_urdf_link;

typedef struct kd_urdf_joint {
    const kd_xml_element *xml;
    const char           *name, *model_name;
    bool                  closure;
    kd_joint_kind         kind;
    bool                  continuous;
    int                   parent, child; // links; -1: unknown
    kd_vec3               r;
    kd_mat3               R;
    kd_mat3               axes; // z along the axis, in the frame of the joint
} kd_urdf_joint;

typedef struct kd_urdf {
    kd_model              *m;
    const char            *file;
    const char            *folder; // of the file; NULL: the text came from memory
    const kd_urdf_options *opt;
    char                  *report;
    size_t                 report_size, reported;
    kd_arena               arena;
    kd_names               names;   // links as bodies, joints as joints, by their names in the file
    kd_names               entered; // names in the model
    int                    nlinks, njoints, root;
    kd_urdf_link          *link;
    kd_urdf_joint         *joint;
    int                   *order; // (nlinks) parents before children
    kd_status              status;
} kd_urdf;

// urdf_text.c: report and messages, numbers, poses
void        kd_urdf_say_piece(kd_urdf *u, const char *format, ...) KD_PRINTF(2, 3);
const char *kd_urdf_name_of(const kd_xml_element *e);
void        kd_urdf_report(kd_urdf *u, const kd_xml_element *owner, const kd_xml_element *part, const char *format, ...)
    KD_PRINTF(4, 5);
void kd_urdf_complain(kd_urdf *u, const kd_xml_element *owner, const kd_xml_element *part, const char *format, ...)
    KD_PRINTF(4, 5);
void kd_urdf_keep_failure(kd_urdf *u, kd_status status);
bool kd_urdf_read_numbers(kd_urdf *u, const kd_xml_element *owner, const kd_xml_element *e, const char *attribute,
                          int n, double *out);
void kd_urdf_report_attributes(kd_urdf *u, const kd_xml_element *owner, const kd_xml_element *e, const char *known);
bool kd_urdf_read_origin(kd_urdf *u, const kd_xml_element *owner, const kd_xml_element *e, kd_vec3 *r, kd_mat3 *R);
bool kd_urdf_read_axis(kd_urdf *u, const kd_xml_element *owner, const kd_xml_element *e, kd_mat3 *axes);

// urdf.c: names
const char *kd_urdf_make_name(kd_urdf *u, kd_section section, const char *wanted, const char *suffix);
const char *kd_urdf_suggest(const kd_urdf *u, kd_section section, const char *wanted, char *text, size_t size);
bool        kd_urdf_is(const kd_xml_element *e, const char *name);
bool        kd_urdf_is_massless(const kd_urdf_link *link);

// urdf_parts.c: bodies and joints of the model
void kd_urdf_add_body(kd_urdf *u, const kd_urdf_link *l);
void kd_urdf_add_joint(kd_urdf *u, const kd_urdf_joint *j);
void kd_urdf_add_closure(kd_urdf *u, const kd_urdf_joint *j);
void kd_urdf_add_base(kd_urdf *u);

#endif
