// command.h: run a shell command and keep what it prints, for tests of programs and scripts.
#ifndef KD_TESTS_COMMAND_H
#define KD_TESTS_COMMAND_H

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

typedef struct command_result {
    int  status;      // exit status; 128 + signal
    char text[20000]; // standard output and, unless redirected, standard error; cut off
} command_result;

// Needs POSIX popen: a test that includes this defines _POSIX_C_SOURCE first.
static inline command_result run_command(const char *command)
{
    command_result result = {.status = -1};
    char           line[6000];
    snprintf(line, sizeof line, "{ %s\n} 2>&1", command);
    fflush(NULL);
    FILE *pipe = popen(line, "r");
    if (!pipe) return result;
    size_t length = fread(result.text, 1, sizeof result.text - 1, pipe);
    result.text[length] = '\0';
    char rest[512];
    while (fread(rest, 1, sizeof rest, pipe) > 0) {
    }
    int status = pclose(pipe);
    result.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return result;
}

// A whole file as text; NULL if it cannot be read. The caller frees it.
static inline char *read_text(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (!file) return NULL;
    size_t size = 0, room = 1 << 16;
    char  *text = malloc(room + 1);
    while (text) {
        size_t got = fread(text + size, 1, room - size, file);
        size += got;
        if (got == 0) break;
        if (size == room) {
            room *= 2;
            char *larger = realloc(text, room + 1);
            if (!larger) free(text);
            text = larger;
        }
    }
    fclose(file);
    if (text) text[size] = '\0';
    return text;
}

#endif
