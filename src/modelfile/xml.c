// xml.c: XML through libxml2's events, without network, entities and DTDs.
//
// A text with a DOCTYPE is refused before anything in it is looked at: it is the only door to entities, external files
// and texts that grow when read. Depth, size and number of elements are bounded.
#include "modelfile/xml.h"

#include <string.h>

#include "core/text.h"

const char *kd_xml_attribute_of(const kd_xml_element *e, const char *name)
{
    for (int i = 0; i < e->nattributes; i++) {
        if (strcmp(e->attribute[i].name, name) == 0) return e->attribute[i].value;
    }
    return NULL;
}

const kd_xml_element *kd_xml_child(const kd_xml_element *e, const char *name)
{
    for (const kd_xml_element *c = e->child; c; c = c->next) {
        if (strcmp(c->name, name) == 0) return c;
    }
    return NULL;
}

#ifndef KD_WITH_LIBXML2

kd_status kd_xml_read(const char *text, size_t length, kd_arena *arena, kd_xml_element **root, int *line, char *message,
                      size_t size)
{
    (void)text, (void)length, (void)arena;
    *root = NULL;
    *line = 0;
    kd_text(message, size, "kardan was built without libxml2 (package libxml2-dev) and cannot read XML");
    return KD_ERR_UNAVAILABLE;
}

#else

#include <libxml/parser.h>

typedef struct reader {
    xmlParserCtxt  *context;
    kd_arena       *arena;
    kd_xml_element *root;
    kd_xml_element *open[KD_XML_MAX_DEPTH]; // elements that have not ended
    kd_xml_element *last[KD_XML_MAX_DEPTH]; // last child of each
    int             depth, nitems;
    kd_status       status;
    int             line;
    char            message[300];
} reader;

static void stop(reader *r, kd_status status, const char *message)
{
    if (r->status < 0) return;
    r->status = status;
    r->line = r->context->input ? r->context->input->line : 0;
    kd_text(r->message, sizeof r->message, "%s", message);
    xmlStopParser(r->context);
}

static char *copy(reader *r, const xmlChar *text, size_t length)
{
    char *to = kd_arena_cut(r->arena, length + 1, 1);
    if (to) memcpy(to, text, length);
    return to;
}

static const char *copy_name(reader *r, const xmlChar *prefix, const xmlChar *local)
{
    const size_t np = prefix ? strlen((const char *)prefix) + 1 : 0, nl = strlen((const char *)local);
    char        *name = kd_arena_cut(r->arena, np + nl + 1, 1);
    if (!name) return NULL;
    if (np > 0) {
        memcpy(name, prefix, np - 1);
        name[np - 1] = ':';
    }
    memcpy(name + np, local, nl);
    return name;
}

// attributes come as name, prefix, URI, begin and end of the value
static void copy_attributes(reader *r, kd_xml_element *e, int n, const xmlChar **from)
{
    e->attribute = kd_arena_cut(r->arena, (size_t)n, sizeof *e->attribute);
    e->nattributes = e->attribute ? n : 0;
    for (int i = 0; i < e->nattributes; i++) {
        const xmlChar **a = from + 5 * i;
        e->attribute[i].name = copy_name(r, a[1], a[0]);
        e->attribute[i].value = copy(r, a[3], (size_t)(a[4] - a[3]));
    }
}

static void start_element(void *context, const xmlChar *name, const xmlChar *prefix, const xmlChar *uri,
                          int nnamespaces, const xmlChar **namespaces, int nattributes, int ndefaulted,
                          const xmlChar **attributes)
{
    (void)uri, (void)nnamespaces, (void)namespaces, (void)ndefaulted;
    reader *r = context;
    if (r->status < 0) return;
    r->nitems += 1 + nattributes;
    if (r->depth == KD_XML_MAX_DEPTH) {
        stop(r, KD_ERR_MODEL, "elements are nested too deeply");
        return;
    }
    if (r->nitems > KD_XML_MAX_ITEMS) {
        stop(r, KD_ERR_MODEL, "the text has too many elements");
        return;
    }
    // name, line and attributes are copied: libxml2 frees its own
    kd_xml_element *e = kd_arena_cut(r->arena, 1, sizeof *e);
    if (e) {
        e->name = copy_name(r, prefix, name);
        e->line = r->context->input ? r->context->input->line : 0;
        copy_attributes(r, e, nattributes, attributes);
    }
    if (r->arena->failed) {
        stop(r, KD_ERR_MEMORY, "out of memory");
        return;
    }
    // behind its elder sister, or the first child of its parent
    for (int d = 0; d < r->depth; d++) r->open[d]->ninside++;
    if (r->depth == 0) {
        r->root = e;
    } else if (r->last[r->depth - 1]) {
        r->last[r->depth - 1]->next = e;
    } else {
        r->open[r->depth - 1]->child = e;
    }
    if (r->depth > 0) r->last[r->depth - 1] = e;
    r->open[r->depth] = e;
    r->last[r->depth] = NULL;
    r->depth++;
}

static void end_element(void *context, const xmlChar *name, const xmlChar *prefix, const xmlChar *uri)
{
    (void)name, (void)prefix, (void)uri;
    reader *r = context;
    if (r->depth > 0) r->depth--;
}

static void refuse_doctype(void *context, const xmlChar *name, const xmlChar *external, const xmlChar *system)
{
    (void)name, (void)external, (void)system;
    stop(context, KD_ERR_MODEL, "a DOCTYPE is not accepted: entities and external files are not read");
}

static void take_error(void *context, xmlErrorPtr error)
{
    reader *r = context;
    if (r->status < 0 || error->level < XML_ERR_ERROR) return;
    r->line = error->line;
    if (error->code == XML_ERR_NO_MEMORY) {
        r->status = KD_ERR_MEMORY;
        return;
    }
    r->status = KD_ERR_MODEL;
    kd_text(r->message, sizeof r->message, "%s", error->message ? error->message : "this is not XML");
    r->message[strcspn(r->message, "\n")] = '\0';
}

static void parse(reader *r, const char *text, size_t length)
{
    xmlSAXHandler handler = {.initialized = XML_SAX2_MAGIC,
                             .internalSubset = refuse_doctype,
                             .startElementNs = start_element,
                             .endElementNs = end_element,
                             .serror = take_error};
    // events only: no tree of libxml2, no entities, no network
    r->context = xmlCreatePushParserCtxt(&handler, r, NULL, 0, NULL);
    if (!r->context) {
        r->status = KD_ERR_MEMORY;
        return;
    }
    // NOENT: &amp; and the like as letters; without a DOCTYPE there are no other entities
    xmlCtxtUseOptions(r->context, XML_PARSE_NONET | XML_PARSE_NOENT | XML_PARSE_BIG_LINES);
    xmlParseChunk(r->context, text, (int)length, 1);
    if (r->status >= 0 && (!r->context->wellFormed || !r->root)) {
        r->status = KD_ERR_MODEL;
        kd_text(r->message, sizeof r->message, "this is not XML");
    }
    xmlFreeDoc(r->context->myDoc);
    xmlFreeParserCtxt(r->context);
}

kd_status kd_xml_read(const char *text, size_t length, kd_arena *arena, kd_xml_element **root, int *line, char *message,
                      size_t size)
{
    *root = NULL;
    *line = 0;
    if (length > KD_XML_MAX_BYTES) {
        kd_text(message, size, "the text is larger than %d MB", KD_XML_MAX_BYTES >> 20);
        return KD_ERR_MODEL;
    }
    reader *r = kd_alloc(sizeof *r);
    if (!r) return KD_ERR_MEMORY;
    r->arena = arena;
    parse(r, text, length);
    const kd_status status = r->status;
    *line = r->line;
    if (status < 0) {
        kd_text(message, size, "%s", r->message);
    } else {
        *root = r->root;
    }
    kd_free(r);
    return status;
}

#endif
