// cli/pace.h: keeping pace with the clock, and the right to do so undisturbed.
#ifndef KD_CLI_PACE_H
#define KD_CLI_PACE_H

#include <kardan/base.h>

typedef struct kd_pace {
    bool   on; // false: as fast as possible, nothing ever waits
    double h;  // [s] length of a step
    double start;
} kd_pace;

// The first step starts now.
void kd_pace_start(kd_pace *pace, bool on, double h);
// When step n (from 0) is to start, on the clock of kd_cli_seconds.
double kd_pace_time(const kd_pace *pace, long n);
// Sleep until step n is to start; returns at once when it is late already, or when a signal comes.
void kd_pace_wait(const kd_pace *pace, long n);

// Run before all programs of smaller real-time priority (1 to 99), with all memory held in place. KD_ERR_UNAVAILABLE:
// the system does not permit it, message says what would.
kd_status kd_pace_priority(int priority, char *message, size_t size) KD_NODISCARD;
// Back to an ordinary program.
void kd_pace_relax(void);

#endif
