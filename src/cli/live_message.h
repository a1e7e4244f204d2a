// cli/live_message.h: what a page of kardan view may say: one word, perhaps a number of an element, then numbers, with
// one space between them. Bytes come from outside: everything is bounded, and what is not understood is refused whole.
#ifndef KD_CLI_LIVE_MESSAGE_H
#define KD_CLI_LIVE_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>

enum { KD_LIVE_LONGEST = 400, KD_LIVE_NUMBERS = 6, KD_LIVE_MOST_INDEX = 1000000 };

// word, has an index, how many numbers
#define KD_LIVE_WORD_LIST(X)                                                                                           \
    X(KD_LIVE_RUN, "run", false, 0)                                                                                    \
    X(KD_LIVE_PAUSE, "pause", false, 0)                                                                                \
    X(KD_LIVE_STEP, "step", false, 0)          /* one picture on */                                                    \
    X(KD_LIVE_RESET, "reset", false, 0)        /* to the start */                                                      \
    X(KD_LIVE_SAVE, "save", false, 0)          /* the state to a file */                                               \
    X(KD_LIVE_SPEED, "speed", false, 1)        /* seconds of the motion for each second */                             \
    X(KD_LIVE_PARAMETER, "parameter", true, 1) /* its new value */                                                     \
    X(KD_LIVE_INPUT, "input", true, 1)         /* held at a value */                                                   \
    X(KD_LIVE_FREE, "free", true, 0)           /* the input follows the model again */                                 \
    X(KD_LIVE_PULL, "pull", true, 6)           /* body, point in its frame, place in the world */                      \
    X(KD_LIVE_MOVE, "move", false, 3)          /* that place */                                                        \
    X(KD_LIVE_RELEASE, "release", false, 0)                                                                            \
    X(KD_LIVE_STRENGTH, "strength", false, 1) /* of the pull, 1: as chosen */

typedef enum kd_live_word {
#define KD_LIVE_ENUM(name, word, has_index, count) name,
    KD_LIVE_WORD_LIST(KD_LIVE_ENUM)
#undef KD_LIVE_ENUM
        KD_LIVE_WORD_COUNT
} kd_live_word;

typedef struct kd_live_message {
    kd_live_word word;
    int          index;                   // 0 .. KD_LIVE_MOST_INDEX; 0 where the word has none
    double       number[KD_LIVE_NUMBERS]; // finite, at most 1e12; 0 beyond those of the word
} kd_live_message;

// size bytes, which need not end with zero. false: not understood, *message is unchanged.
bool kd_live_message_read(const char *bytes, size_t size, kd_live_message *message);

#endif
