// guest_impl.h: what the files of the guest share.
#ifndef KD_FMI_GUEST_IMPL_H
#define KD_FMI_GUEST_IMPL_H

#include "fmi/guest_serve.h"

int             kd_guest_version(const kd_guest *g);
kd_guest_bytes *kd_guest_request(kd_guest *g);       // a new one, empty
kd_guest_bytes *kd_guest_request_again(kd_guest *g); // the same, to go on
kd_guest_bytes *kd_guest_answer(kd_guest *g);
kd_status       kd_guest_call_now(kd_guest *g, kd_guest_call call);
kd_status       kd_guest_refuse(kd_guest *g, kd_status status, const char *why);

#endif
