// core/status.c: names and sentences of kd_status, both from the list in kardan/base.h; the version.
#include <kardan/base.h>

const char *kd_status_name(kd_status status)
{
    switch (status) {
#define STATUS_NAME(name, value, sentence)                                                                             \
    case name:                                                                                                         \
        return #name;
        KD_STATUS_LIST(STATUS_NAME)
#undef STATUS_NAME
    }
    return "unknown status";
}

const char *kd_status_sentence(kd_status status)
{
    switch (status) {
#define STATUS_SENTENCE(name, value, sentence)                                                                         \
    case name:                                                                                                         \
        return sentence;
        KD_STATUS_LIST(STATUS_SENTENCE)
#undef STATUS_SENTENCE
    }
    return "unknown status";
}

const char *kd_version(void)
{
    return "0.1.0";
}
