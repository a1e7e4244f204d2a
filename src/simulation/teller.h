// simulation/teller.h: what happened at an instant, kept until its state is consistent, then told to the listener.
#ifndef KD_SIMULATION_TELLER_H
#define KD_SIMULATION_TELLER_H

#include <kardan/simulation.h>

#include "core/memory.h"

#define KD_TOLD_TEXT 200 // characters about one event

typedef struct kd_told {
    kd_event_kind kind;
    int           index, direction;
    char          text[KD_TOLD_TEXT];
    double        impulse, work; // of a kick
} kd_told;

typedef struct kd_teller {
    kd_event_listener listener; // NULL: nobody listens
    void             *context;
    bool              samples; // are told, too
    kd_told          *queue;   // (room)
    int               queued, room;
    long              count[KD_EVENT_KIND_COUNT]; // since creation
} kd_teller;

// Room for so many things at one instant; those beyond are counted only.
void kd_teller_cut(kd_teller *self, kd_arena *arena, const kd_event_options *opt, int room);
// One more thing (a kd_event_teller with the teller as context).
void kd_teller_tell(kd_event_kind kind, int index, int direction, const char *text, void *teller);
void kd_teller_tell_kick(kd_teller *self, int index, double impulse, double work, const char *text);
bool kd_teller_tells_samples(const kd_teller *self); // does anybody hear of samples?
void kd_teller_forget(kd_teller *self);              // what is in the queue
// Tell the listener all of it. KD_OK, KD_STOPPED: it wants the run to end
kd_status kd_teller_deliver(kd_teller *self, const kd_state *before, const kd_state *after) KD_NODISCARD;

#endif
