// guest_serve.h: calls of an FMU as messages: a request and its answer are bytes.
#ifndef KD_FMI_GUEST_SERVE_H
#define KD_FMI_GUEST_SERVE_H

#include <stdint.h>

#include "fmi/guest.h"

typedef enum kd_guest_call {
    KD_CALL_OPEN,      // exchange, version, paths and names -> nothing
    KD_CALL_SET,       // type, reference, bytes of a value
    KD_CALL_GET,       // type, reference -> bytes
    KD_CALL_BEGIN,     // t_start, t_stop, tolerance
    KD_CALL_FINISH,    //
    KD_CALL_STEP,      // t, h -> reached, stop
    KD_CALL_END,       //
    KD_CALL_STATES,    // n -> x
    KD_CALL_RATES,     // t, n, m, x -> dx, z
    KD_CALL_COMPLETED, // -> event, stop
    KD_CALL_UPDATE,    // enter -> changed, stop, next
    KD_CALL_ENTER,     // event mode, for new inputs; an update follows
    KD_CALL_SAVE,      // slot
    KD_CALL_RESTORE,   // slot
    KD_CALL_EVALUATE,  // t, counts of x, z, u, y, then x, references of u, u, references of y -> dx, z, y
    KD_CALL_SLOPES, // the same, whether by differences, references of x and dx -> (dx, y) by (x, u), column by column
    KD_CALL_COUNT
} kd_guest_call;

enum { KD_GUEST_TEXT = 700, KD_GUEST_BYTES = 1 << 24 };

typedef struct kd_guest_bytes {
    unsigned char *data;
    size_t         size, at, room;
} kd_guest_bytes;

void kd_bytes_put(kd_guest_bytes *b, const void *data, size_t size); // size 0 with room 0 after a failure
bool kd_bytes_get(kd_guest_bytes *b, void *data, size_t size);

typedef struct kd_served kd_served; // the FMU on this side of the wall
kd_served               *kd_served_create(void);
void                     kd_served_destroy(kd_served *s);
// answer is filled; KD_OK or why not, in text.
kd_status kd_served_call(kd_served *s, kd_guest_call call, kd_guest_bytes *request, kd_guest_bytes *answer, char *text);

#endif
