// sources.c: where elements and their fields stand in files, and messages about them: "file:line:column: joint 'hinge':
// text".
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/text.h"
#include "model/build.h"

// ---- positions ------------------------------------------------------------------------------------------------------

// the name of the file is copied once as long as it stays the same
kd_status kd_model_at(kd_model *m, const char *file, int line, int column)
{
    kd_source *s = &m->private->source;
    if (!file) {
        s->file = NULL;
    } else if (!s->file || strcmp(s->file, file) != 0) {
        s->file = kd_model_text(m, file);
        if (!s->file) return KD_ERR_MEMORY;
    }
    s->line = line;
    s->column = column;
    return KD_OK;
}

typedef struct kd_shared {
    const char       *file;
    struct kd_shared *next;
} kd_shared;

bool kd_model_is_shared(const kd_model *m, const char *file)
{
    const kd_shared *s = m->private->shared;
    while (file && s && strcmp(s->file, file) != 0) s = s->next;
    return file && s;
}

kd_status kd_model_share_file(kd_model *m, const char *file)
{
    if (!file || kd_model_is_shared(m, file)) return KD_OK;
    kd_shared *s = kd_arena_cut(&m->private->arena, 1, sizeof *s);
    if (!s) return KD_ERR_MEMORY;
    *s = (kd_shared){kd_model_text(m, file), m->private->shared};
    if (!s->file) return KD_ERR_MEMORY;
    m->private->shared = s;
    return KD_OK;
}

static kd_status field_at(kd_model *m, const char *field, int line, int column, bool literal)
{
    struct kd_model_private *p = m->private;
    // twice the room when it is full
    if (p->nfields == p->fields_capacity) {
        const int          capacity = p->fields_capacity ? 2 * p->fields_capacity : 64;
        kd_field_position *larger = kd_alloc((size_t)capacity * sizeof *larger);
        if (!larger) return KD_ERR_MEMORY;
        if (p->nfields > 0) memcpy(larger, p->field, (size_t)p->nfields * sizeof *larger);
        kd_free(p->field);
        p->field = larger;
        p->fields_capacity = capacity;
    }
    // no element yet: claim_fields gives it one
    p->field[p->nfields++] = (kd_field_position){field, KD_SECTION_BODY, -1, line, column, literal};
    p->fields_waiting++;
    return KD_OK;
}

kd_status kd_model_field_at(kd_model *m, const char *field, int line, int column)
{
    return field_at(m, field, line, column, false);
}

kd_status kd_model_law_at(kd_model *m, const char *field, int line, int column)
{
    return field_at(m, field, line, column, true);
}

// as for fields
kd_status kd_model_number_text(kd_model *m, size_t offset, const char *text)
{
    struct kd_model_private *p = m->private;
    if (p->nnumbers == p->numbers_capacity) {
        const int       capacity = p->numbers_capacity ? 2 * p->numbers_capacity : 64;
        kd_number_text *larger = kd_alloc((size_t)capacity * sizeof *larger);
        if (!larger) return KD_ERR_MEMORY;
        if (p->nnumbers > 0) memcpy(larger, p->number, (size_t)p->nnumbers * sizeof *larger);
        kd_free(p->number);
        p->number = larger;
        p->numbers_capacity = capacity;
    }
    const char *copy = kd_model_text(m, text);
    if (!copy) return KD_ERR_MEMORY;
    p->number[p->nnumbers++] = (kd_number_text){KD_SECTION_BODY, -1, offset, copy};
    p->numbers_waiting++;
    return KD_OK;
}

// the fields and numbers that waited belong to this element
void kd_model_claim_fields(kd_model *m, kd_section section, int element)
{
    struct kd_model_private *p = m->private;
    // those that wait are the last ones
    for (; p->fields_waiting > 0; p->fields_waiting--) {
        kd_field_position *f = &p->field[p->nfields - p->fields_waiting];
        f->section = section;
        f->element = element;
    }
    for (; p->numbers_waiting > 0; p->numbers_waiting--) {
        kd_number_text *n = &p->number[p->nnumbers - p->numbers_waiting];
        n->section = section;
        n->element = element;
    }
    kd_bindings_claim(m, section, element);
}

// an element that was refused leaves nothing behind
void kd_model_drop_fields(kd_model *m)
{
    m->private->nfields -= m->private->fields_waiting;
    m->private->fields_waiting = 0;
    m->private->nnumbers -= m->private->numbers_waiting;
    m->private->numbers_waiting = 0;
    kd_bindings_drop(m);
}

// is `known` the field or a part around it: "from" and "from.body", "motion" and "motion[1]"
static bool covers(const char *known, const char *field)
{
    const size_t n = strlen(known);
    return strncmp(known, field, n) == 0 && (field[n] == '\0' || field[n] == '.' || field[n] == '[');
}

kd_source kd_model_source_of(const kd_model *m, kd_section section, int element, const char *field)
{
    kd_source source = {NULL, 0, 0, 0};
    // position of the element, then of the part of the field that is known best: the longest match
    if (element < 0 || element >= kd_section_count(m, section)) return source;
    source = kd_element_source(m, section, element);
    size_t best = 0;
    for (int i = 0; field && i < m->private->nfields; i++) {
        const kd_field_position *f = &m->private->field[i];
        if (f->section != section || f->element != element || !covers(f->field, field)) continue;
        if (strlen(f->field) < best) continue;
        best = strlen(f->field);
        source.line = f->line;
        source.column = f->column;
    }
    return source;
}

kd_source kd_model_run_source(const kd_model *m, const char *field)
{
    kd_source source = m->private->run_source;
    // fields of the run are claimed under KD_SECTION_COUNT
    size_t best = 0;
    for (int i = 0; i < m->private->nfields; i++) {
        const kd_field_position *f = &m->private->field[i];
        if (f->section != KD_SECTION_COUNT || !covers(f->field, field) || strlen(f->field) < best) continue;
        best = strlen(f->field);
        source.line = f->line;
        source.column = f->column;
    }
    return source;
}

bool kd_model_source_in(const kd_model *m, kd_section section, int element, const char *field, int column,
                        kd_source *source)
{
    // only of expressions that stand in the file as they are
    for (int i = 0; i < m->private->nfields; i++) {
        const kd_field_position *f = &m->private->field[i];
        if (!f->literal || f->section != section || f->element != element || strcmp(f->field, field) != 0) continue;
        *source = kd_model_source_of(m, section, element, field);
        source->column += column - 1;
        return true;
    }
    return false;
}

// ---- messages -------------------------------------------------------------------------------------------------------

// "file:line:column: ", or nothing
static void say_source(const kd_source *source, char *text, size_t size)
{
    text[0] = '\0';
    if (source->file && source->line > 0 && source->column > 0) {
        kd_text(text, size, "%s:%d:%d: ", source->file, source->line, source->column);
    } else if (source->file && source->line > 0) {
        kd_text(text, size, "%s:%d: ", source->file, source->line);
    } else if (source->file) {
        kd_text(text, size, "%s: ", source->file);
    }
}

static void say_element(const kd_model *m, kd_section section, int element, char *text, size_t size)
{
    if (element >= 0 && element < kd_section_count(m, section)) {
        kd_text_append(text, size, "%s '%s': ", kd_section_word(section), kd_element_name(m, section, element));
    }
}

// errors in one text, a line each
static void append_error(kd_model *m, const char *line)
{
    struct kd_model_private *p = m->private;
    // beyond the limit they are counted, and that is said once
    p->nerrors++;
    if (p->nerrors > KD_MODEL_MAX_ERRORS) {
        if (p->nerrors == KD_MODEL_MAX_ERRORS + 1) {
            kd_text_append(p->message, sizeof p->message, "\nfurther errors are not shown");
        }
        return;
    }
    kd_text_append(p->message, sizeof p->message, "%s%s", p->message[0] ? "\n" : "", line);
}

// warnings one by one
static void append_warning(kd_model *m, const char *line)
{
    struct kd_model_private *p = m->private;
    if (p->nwarnings == KD_MODEL_MAX_WARNINGS) return;
    // the last line says that there are more
    const bool  last = p->nwarnings == KD_MODEL_MAX_WARNINGS - 1;
    const char *text = last ? "further warnings are not shown" : kd_model_text(m, line);
    if (text) p->warning[p->nwarnings++] = text;
}

// "file:line:column: joint 'hinge': text"; element < 0: without an element
static void compose(const kd_model *m, const kd_source *source, kd_section section, int element, const char *format,
                    va_list arguments, char line[KD_MODEL_LINE])
{
    char text[KD_MODEL_LINE];
    vsnprintf(text, sizeof text, format, arguments);
    say_source(source, line, KD_MODEL_LINE);
    say_element(m, section, element, line, KD_MODEL_LINE);
    kd_text_append(line, KD_MODEL_LINE, "%s", text);
}

// Positions are searched only for lines that will be seen: a model can have as many faults as elements.
static kd_source source_of_line(const kd_model *m, bool seen, kd_section section, int element, const char *field)
{
    return seen ? kd_model_source_of(m, section, element, field) : (kd_source){NULL, 0, 0, 0};
}

void kd_model_error(kd_model *m, kd_section section, int element, const char *field, const char *format, ...)
{
    char            line[KD_MODEL_LINE];
    const bool      seen = m->private->nerrors < KD_MODEL_MAX_ERRORS;
    const kd_source source = source_of_line(m, seen, section, element, field);
    va_list         arguments;
    va_start(arguments, format);
    compose(m, &source, section, element, format, arguments, line);
    va_end(arguments);
    append_error(m, line);
}

// of what belongs to no element: settings, keys of a file
void kd_model_error_at(kd_model *m, const kd_source *source, const char *format, ...)
{
    char    line[KD_MODEL_LINE];
    va_list arguments;
    va_start(arguments, format);
    compose(m, source, KD_SECTION_BODY, -1, format, arguments, line);
    va_end(arguments);
    append_error(m, line);
}

void kd_model_warn(kd_model *m, kd_section section, int element, const char *field, const char *format, ...)
{
    if (m->private->quiet || m->private->nwarnings == KD_MODEL_MAX_WARNINGS) return;
    char            line[KD_MODEL_LINE];
    const bool      seen = m->private->nwarnings < KD_MODEL_MAX_WARNINGS - 1;
    const kd_source source = source_of_line(m, seen, section, element, field);
    va_list         arguments;
    va_start(arguments, format);
    compose(m, &source, section, element, format, arguments, line);
    va_end(arguments);
    append_warning(m, line);
}

void kd_model_warn_at(kd_model *m, const kd_source *source, const char *format, ...)
{
    if (m->private->quiet || m->private->nwarnings == KD_MODEL_MAX_WARNINGS) return;
    char    line[KD_MODEL_LINE];
    va_list arguments;
    va_start(arguments, format);
    compose(m, source, KD_SECTION_BODY, -1, format, arguments, line);
    va_end(arguments);
    append_warning(m, line);
}

int kd_model_error_count(const kd_model *m)
{
    return m->private->nerrors;
}

const char *kd_model_message(const kd_model *m)
{
    return m ? m->private->message : "";
}

int kd_model_warning_count(const kd_model *m)
{
    return m ? m->private->nwarnings : 0;
}

const char *kd_model_warning(const kd_model *m, int i)
{
    return m && i >= 0 && i < m->private->nwarnings ? m->private->warning[i] : "";
}

// The position of a field of an element that is not there yet, as far as it is known.
kd_source kd_model_source_waiting(const kd_model *m, const char *field)
{
    const struct kd_model_private *p = m->private;
    kd_source                      source = p->source;
    // the last one that covers the field
    for (int i = p->nfields - p->fields_waiting; i < p->nfields; i++) {
        if (!covers(p->field[i].field, field)) continue;
        source.line = p->field[i].line;
        source.column = p->field[i].column;
    }
    return source;
}

// the element has no number yet: its name is told
void kd_model_refuse(kd_model *m, kd_section section, const char *name, const char *field, const char *format, ...)
{
    char            text[KD_MODEL_LINE];
    const kd_source source = kd_model_source_waiting(m, field);
    va_list         arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    kd_model_error_at(m, &source, "%s '%s': %s", kd_section_word(section), name, text);
}
