// teller.c: words and numbers about the events of an instant, in their order.
#include "simulation/teller.h"

#include "core/text.h"

static const char *const word_of[KD_EVENT_KIND_COUNT] = {
    [KD_EVENT_SWITCH] = "switch",   [KD_EVENT_IMPACT] = "impact", [KD_EVENT_REST] = "rest",
    [KD_EVENT_RELEASE] = "release", [KD_EVENT_STICK] = "stick",   [KD_EVENT_SLIDE] = "slide",
    [KD_EVENT_SAMPLE] = "sample",   [KD_EVENT_BREAK] = "break",   [KD_EVENT_KICK] = "kick",
};

const char *kd_event_word(kd_event_kind kind)
{
    return (int)kind >= 0 && kind < KD_EVENT_KIND_COUNT ? word_of[kind] : "unknown";
}

void kd_teller_cut(kd_teller *self, kd_arena *arena, const kd_event_options *opt, int room)
{
    self->listener = opt->listener;
    self->context = opt->context;
    self->samples = opt->samples;
    self->room = room;
    self->queue = kd_arena_cut(arena, (size_t)room, sizeof *self->queue);
}

bool kd_teller_tells_samples(const kd_teller *self)
{
    return self->listener && self->samples;
}

void kd_teller_tell(kd_event_kind kind, int index, int direction, const char *text, void *teller)
{
    kd_teller *self = teller;
    self->count[kind]++;
    // counted in any case; kept only as long as there is room, and samples only where they are wanted
    if (self->queued == self->room) return;
    if (kind == KD_EVENT_SAMPLE && !kd_teller_tells_samples(self)) return;
    kd_told *t = &self->queue[self->queued++];
    t->kind = kind;
    t->index = index;
    t->direction = direction;
    t->impulse = t->work = 0;
    kd_text(t->text, sizeof t->text, "%s", text);
}

void kd_teller_tell_kick(kd_teller *self, int index, double impulse, double work, const char *text)
{
    const int before = self->queued;
    kd_teller_tell(KD_EVENT_KICK, index, 0, text, self);
    if (self->queued == before) return;
    self->queue[before].impulse = impulse;
    self->queue[before].work = work;
}

void kd_teller_forget(kd_teller *self)
{
    self->queued = 0;
}

kd_status kd_teller_deliver(kd_teller *self, const kd_state *before, const kd_state *after)
{
    kd_status status = KD_OK;
    // a listener may stop the run: the rest is not told
    for (int i = 0; i < self->queued && self->listener && status == KD_OK; i++) {
        const kd_told *t = &self->queue[i];
        kd_event       event = {after->t, t->kind, t->index, t->direction, t->text, t->impulse, t->work};
        if (self->listener(&event, before, after, self->context) != KD_EVAL_OK) status = KD_STOPPED;
    }
    kd_teller_forget(self);
    return status;
}
