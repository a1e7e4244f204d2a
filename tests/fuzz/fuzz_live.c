// tests/fuzz/fuzz_live.c: any bytes as a message of a page of kardan view.
//
// Whatever is taken has a word of the list, an index within its bounds and finite numbers, and is taken again when it is written
// out in the same words.
#include <math.h>
#include <stdio.h>
// clang-format off
#include "../../src/cli/live_message.c"
// clang-format on
#include "fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    kd_live_message m = {.word = KD_LIVE_WORD_COUNT}, again;
    char           *bytes = text_of(data, size);
    const bool      taken = kd_live_message_read(bytes, size, &m);
    free(bytes);
    if (!taken) {
        demand(m.word == KD_LIVE_WORD_COUNT);
        return 0;
    }
    demand(m.word < KD_LIVE_WORD_COUNT && m.index >= 0 && m.index <= KD_LIVE_MOST_INDEX && size <= KD_LIVE_LONGEST);
    for (int i = 0; i < KD_LIVE_NUMBERS; i++) demand(isfinite(m.number[i]) && fabs(m.number[i]) <= LARGEST);
    // the same in other digits
    char text[KD_LIVE_LONGEST];
    int  n = snprintf(text, sizeof text, "%s", WORDS[m.word].word);
    if (WORDS[m.word].has_index) n += snprintf(text + n, sizeof text - (size_t)n, " %d", m.index);
    for (int i = 0; i < WORDS[m.word].count; i++)
        n += snprintf(text + n, sizeof text - (size_t)n, " %.17g", m.number[i]);
    demand(kd_live_message_read(text, (size_t)n, &again));
    demand(again.word == m.word && again.index == m.index && memcmp(again.number, m.number, sizeof m.number) == 0);
    return 0;
}
