// cli/channels.h: the channels that a report shows: as asked for, as the model says, or all sensors.
#ifndef KD_CLI_CHANNELS_H
#define KD_CLI_CHANNELS_H

#include "cli/subject.h"
#include "results/recording.h"

enum { KD_CHANNELS_PLOTS = 16 };

typedef struct kd_plot_channels {
    const char *words;      // "A,B,..." of the command line; NULL: not asked for
    char        list[4096]; // the same, cut into words
    const char *plot[KD_CHANNELS_PLOTS];
    int         nplots;
} kd_plot_channels;

// Cut the words; all of them are to be recorded: added to watch. false: too many, standard error has been told.
bool kd_plot_channels_split(kd_plot_channels *channels, kd_cli_list *watch);
// Find the channels in the recording. false: one is unknown, standard error has been told.
bool kd_plot_channels_choose(kd_plot_channels *channels, const kd_recording *recording, const kd_subject *subject);

#endif
