// flexible_body.c: the file of a flexible body of a model: reduced before (.flex, .SID_FEM), or a part that is reduced now; a part
// of beams also in pieces, each of which is a body, fixed to the one before it.
#include <stdio.h>
#include <string.h>

#include "core/text.h"
#include "model/part.h"
#include "modelfile/part.h"
#include "modelfile/reader.h"

enum { MOST_PIECES = 1000 };

// A part, or a piece of it, is reduced once for all bodies that name it
static kd_status reduce(kd_reader *r, const char *path, int piece, int pieces, const kd_flexible_body **body, char *why,
                        size_t size)
{
    kd_flexible_body new = {0};
    kd_part_report report;
    *body = kd_model_part_find(r->m, path, piece, pieces);
    if (*body) return KD_OK;
    const kd_status status = kd_part_read(path, piece, pieces, &new, &report, why, size);
    if (status < 0) return status == KD_ERR_MEMORY ? status : KD_ERR_MODEL;
    *body = kd_model_part_enter(r->m, path, piece, pieces, &new);
    return *body ? KD_OK : KD_ERR_MEMORY;
}

static bool is_part(const char *file)
{
    return kd_text_has_ending(file, ".yaml") || kd_text_has_ending(file, ".yml");
}

// The file of the body, or its piece
static bool read_part(kd_reader *r, const kd_node *node, kd_body_def *def)
{
    char      path[KD_PATH_LENGTH], why[2000] = "";
    const int pieces = def->pieces > 1 ? def->pieces : 1, piece = def->piece > 0 ? def->piece : 1;
    kd_status status = kd_reader_data_path(r, def->flexible, path, why, sizeof why);
    if (status == KD_OK)
        status = is_part(def->flexible) ? reduce(r, path, piece, pieces, &def->read, why, sizeof why)
                                        : kd_model_part_read(r->m, path, &def->read, why, sizeof why);
    if (status == KD_ERR_MEMORY) return kd_reader_short_of_memory(r);
    if (status < 0) kd_reader_complain(r, node, "%s", why);
    return status == KD_OK;
}

static bool check_pieces(kd_reader *r, const kd_node *map, const kd_body_def *def)
{
    const kd_node *pieces = kd_node_find(map, "pieces"), *piece = kd_node_find(map, "piece");
    const char    *why = def->pieces > MOST_PIECES           ? "too many pieces"
                         : def->piece > def->pieces          ? "there are not so many 'pieces'"
                         : pieces && !is_part(def->flexible) ? "only a part of beams (.yaml) can be cut into pieces"
                                                             : NULL;
    if (why) kd_reader_complain(r, piece ? piece : pieces, "%s", why);
    return !why;
}

bool kd_reader_flexible(kd_reader *r, const kd_node *map, kd_body_def *def)
{
    static const char *const in_file[] = {"mass", "centre", "inertia"};
    const kd_node           *node = kd_node_find(map, "flexible");
    if (!def->flexible || !node) return true;
    for (size_t i = 0; i < sizeof in_file / sizeof *in_file; i++)
        if (kd_node_find(map, in_file[i])) {
            kd_reader_complain(r, kd_node_find(map, in_file[i]), "'%s' of a flexible body is in its file; leave it out",
                               in_file[i]);
            return false;
        }
    if (!check_pieces(r, map, def)) return false;
    if (def->pieces > 1 && def->piece == 0) def->piece = 1; // the first has the name of the body, others follow it
    return read_part(r, node, def);
}

// ---- pieces ---------------------------------------------------------------------------------------------------------

// body(k); of body(i): body(i,k)
static bool name_piece(const char *body, int k, char *name, size_t size)
{
    const size_t n = strlen(body);
    const bool   indexed = n > 0 && body[n - 1] == ')';
    const int    length = snprintf(name, size, "%.*s%s%d)", (int)(indexed ? n - 1 : n), body, indexed ? "," : "(", k);
    return length > 0 && (size_t)length < size;
}

// Is the piece of this body the first of all, so that the others are to be made
bool kd_reader_has_pieces(const kd_node *map, const kd_body_def *def)
{
    return def->flexible && def->pieces > 1 && map->type == KD_NODE_MAP && !kd_node_find(map, "piece");
}

bool kd_reader_add_pieces(kd_reader *r, const kd_node *map, const char *body, const kd_body_def *first)
{
    const kd_node *node = kd_node_find(map, "flexible");
    char           before[KD_PATH_LENGTH], name[KD_PATH_LENGTH];
    kd_body_def    def = *first;
    kd_text(before, sizeof before, "%s", body);
    // each piece is a body of its own, welded to the last interface of the one before
    for (int k = 2; k <= first->pieces; k++) {
        const kd_flexible_body *last = def.read;
        kd_joint_def            weld = kd_joint_def_default(KD_FIXED);
        def.piece = k;
        def.nshapes = 0;
        if (!name_piece(body, k, name, sizeof name) || !read_part(r, node, &def)) return false;
        weld.from = kd_at_node(before, last->frame[last->nframes - 1].name);
        weld.to = kd_at_node(name, def.read->frame[0].name);
        kd_status status = kd_model_add_body(r->m, name, &def);
        if (status >= 0) status = kd_model_add_joint(r->m, name, &weld);
        if (status == KD_ERR_MEMORY) return kd_reader_short_of_memory(r);
        if (status < 0) return false;
        kd_text(before, sizeof before, "%s", name);
    }
    return true;
}
