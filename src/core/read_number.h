// core/read_number.h: numbers of files and commands, with a decimal point in every locale.
#ifndef KD_CORE_READ_NUMBER_H
#define KD_CORE_READ_NUMBER_H

// strtod of the C locale, whatever the program that uses the library has set.
double kd_read_number(const char *text, char **end);

#endif
