// xml.h: an XML text as a bounded tree of elements with their lines, read without network, entities and DTDs.
#ifndef KD_MODELFILE_XML_H
#define KD_MODELFILE_XML_H

#include <kardan/base.h>

#include "core/memory.h"

// Limits of a text.
enum {
    KD_XML_MAX_BYTES = 16 << 20,
    KD_XML_MAX_DEPTH = 64,
    KD_XML_MAX_ITEMS = 400000, // elements and attributes
};

typedef struct kd_xml_attribute {
    const char *name, *value;
} kd_xml_attribute;

typedef struct kd_xml_element {
    const char            *name; // with its prefix: "xacro:macro"
    int                    line; // where its start tag ends, 1-based
    int                    nattributes;
    kd_xml_attribute      *attribute;
    int                    ninside; // all elements inside of it
    struct kd_xml_element *child;   // first of them
    struct kd_xml_element *next;    // behind it, with the same parent
} kd_xml_element;

// Read the text. KD_OK; KD_ERR_MODEL: *line (0: unknown) and message say why; KD_ERR_MEMORY; KD_ERR_UNAVAILABLE: built
// without libxml2. The tree lives in the arena. Text between elements is passed over.
kd_status kd_xml_read(const char *text, size_t length, kd_arena *arena, kd_xml_element **root, int *line, char *message,
                      size_t size) KD_NODISCARD;

const char           *kd_xml_attribute_of(const kd_xml_element *e, const char *name); // NULL: it is not there
const kd_xml_element *kd_xml_child(const kd_xml_element *e, const char *name);        // the first one; NULL: none

#endif
