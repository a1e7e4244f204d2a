// live_message.c: words of a page, read from bytes that anybody may have sent.
#include "cli/live_message.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// beyond it nothing of a mechanism makes sense
static const double LARGEST = 1e12;

// one row: how a word is written
typedef struct grammar {
    const char *word;
    bool        has_index;
    int         count;
} grammar;

static const grammar WORDS[] = {
#define KD_LIVE_ROW(name, word, has_index, count) {word, has_index, count},
    KD_LIVE_WORD_LIST(KD_LIVE_ROW)
#undef KD_LIVE_ROW
};

// The next piece of the text, up to a space or the end, cut in place; NULL: there is none
static char *next_piece(char **rest)
{
    char *piece = *rest;
    if (!piece || !*piece) return NULL;
    char *space = strchr(piece, ' ');
    *rest = space ? space + 1 : NULL;
    if (space) *space = '\0';
    return *piece ? piece : NULL;
}

// Digits, sign, point and exponent only: strtod knows words and hexadecimal digits, too
static bool read_number(const char *piece, double *value)
{
    char *end;
    if (!piece || piece[strspn(piece, "0123456789+-.eE")] != '\0') return false;
    *value = strtod(piece, &end);
    return end != piece && *end == '\0' && isfinite(*value) && fabs(*value) <= LARGEST;
}

// no sign, no blank; seven digits stay in an int
static bool read_index(const char *piece, int *index)
{
    if (!piece || strlen(piece) > 7 || piece[strspn(piece, "0123456789")] != '\0') return false;
    *index = atoi(piece);
    return *index <= KD_LIVE_MOST_INDEX;
}

bool kd_live_message_read(const char *bytes, size_t size, kd_live_message *message)
{
    char            text[KD_LIVE_LONGEST + 1], *rest = text;
    kd_live_message m = {.word = KD_LIVE_WORD_COUNT};
    // whole, of text, without a blank at its end
    if (size == 0 || size > KD_LIVE_LONGEST || memchr(bytes, '\0', size) || bytes[size - 1] == ' ') return false;
    memcpy(text, bytes, size);
    text[size] = '\0';
    // the word, then what its row says, and nothing else
    const char *word = next_piece(&rest);
    for (int i = 0; word && i < KD_LIVE_WORD_COUNT; i++)
        if (strcmp(word, WORDS[i].word) == 0) m.word = (kd_live_word)i;
    if (m.word == KD_LIVE_WORD_COUNT) return false;
    if (WORDS[m.word].has_index && !read_index(next_piece(&rest), &m.index)) return false;
    for (int i = 0; i < WORDS[m.word].count; i++)
        if (!read_number(next_piece(&rest), &m.number[i])) return false;
    if (rest) return false;
    *message = m;
    return true;
}
