// Wrong models of several files: tests/modelfile/wrong-files.txt has their texts and the exact message of each.
//
//     ##### name
//     #: link FILE TARGET, or set NAME=VALUE    (before it is read)
//     #> line of the message
//     #= file                                   (its text follows)
#define _XOPEN_SOURCE 700
#include "modelfile/files.h"

#include <sys/stat.h>
#include <unistd.h>

#define CASES KD_SOURCE_DIR "/tests/modelfile/wrong-files.txt"
#define OUT KD_BINARY_DIR "/wrong-files"

static void make_folders(const char *path)
{
    char part[1000];
    for (const char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        snprintf(part, sizeof part, "%.*s", (int)(slash - path), path);
        mkdir(part, 0777);
    }
}

static const char *end_of_line(const char *text)
{
    return text + strcspn(text, "\n") + (text[strcspn(text, "\n")] == '\n');
}

// The text up to the next line with a mark is a file
static const char *write_file(const char *folder, const char *mark)
{
    char path[1000];
    snprintf(path, sizeof path, "%s/%.*s", folder, (int)strcspn(mark + 3, "\n"), mark + 3);
    make_folders(path);
    remove(path);
    FILE       *file = fopen(path, "wb");
    const char *text = end_of_line(mark);
    assert_non_null(file);
    while (*text && strncmp(text, "#= ", 3) != 0 && strncmp(text, "##### ", 6) != 0) {
        const char *next = end_of_line(text);
        fwrite(text, 1, (size_t)(next - text), file);
        text = next;
    }
    fclose(file);
    return text;
}

static void prepare(const char *folder, const char *line, char *setting, size_t size)
{
    char path[1000], word[2][200];
    if (sscanf(line, "#: set %199s", setting) == 1) return;
    (void)size;
    assert_int_equal(sscanf(line, "#: link %199s %199s", word[0], word[1]), 2);
    snprintf(path, sizeof path, "%s/%s", folder, word[0]);
    make_folders(path);
    remove(path);
    assert_int_equal(symlink(word[1], path), 0);
}

// The message of a model without the folder in front of its lines
static void read_case(const char *folder, char *setting, char *message, size_t size)
{
    static char raw[16000];
    char        path[1000];
    kd_model   *m = NULL;
    kd_setting  s = {setting, ""};
    char       *equals = strchr(setting, '=');
    if (equals) {
        *equals = '\0';
        s.value = equals + 1;
    }
    snprintf(path, sizeof path, "%s/model.yaml", folder);
    const kd_status status = kd_model_read(path, &s, equals ? 1 : 0, &m, raw, sizeof raw);
    if (status != KD_ERR_MODEL || m) snprintf(raw, sizeof raw, "status %d", (int)status);
    kd_model_destroy(m);
    message[0] = '\0';
    for (const char *c = raw; *c;) {
        const size_t n = strlen(folder) + 1, used = strlen(message);
        if (strncmp(c, folder, n - 1) == 0 && c[n - 1] == '/')
            c += n;
        else if (used + 2 < size) {
            message[used] = *c++;
            message[used + 1] = '\0';
        }
    }
}

// Each gives exactly its message, and there are at least 40.
static void wrong_models_say_why(void **state)
{
    int   count = 0, failures = 0;
    char *all = file_content(CASES, NULL);
    FILE *found = getenv("KARDAN_WRITE_MESSAGES") ? fopen(getenv("KARDAN_WRITE_MESSAGES"), "wb") : NULL;
    (void)state;
    for (const char *text = strstr(all, "##### "); text; count++) {
        static char expected[16000], message[16000];
        char        name[100], folder[600], setting[200] = "";
        snprintf(name, sizeof name, "%.*s", (int)strcspn(text + 6, "\n"), text + 6);
        snprintf(folder, sizeof folder, "%s/%s/in", OUT, name);
        expected[0] = '\0';
        for (text = end_of_line(text); strncmp(text, "##### ", 6) != 0 && *text;) {
            if (strncmp(text, "#= ", 3) == 0) {
                text = write_file(folder, text);
                continue;
            }
            if (strncmp(text, "#: ", 3) == 0) prepare(folder, text, setting, sizeof setting);
            const size_t used = strlen(expected);
            if (strncmp(text, "#> ", 3) == 0)
                snprintf(expected + used, sizeof expected - used, "%s%.*s", used > 0 ? "\n" : "",
                         (int)strcspn(text + 3, "\n"), text + 3);
            text = end_of_line(text);
        }
        if (*text == '\0') text = NULL;
        read_case(folder, setting, message, sizeof message);
        if (found) fprintf(found, "##### %s\n%s\n", name, message);
        if (strcmp(message, expected) == 0) continue;
        print_error("%s\n expected: %s\n      got: %s\n", name, expected, message);
        failures++;
    }
    if (found) fclose(found);
    free(all);
    assert_int_equal(failures, 0);
    assert_true(count >= 40);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(wrong_models_say_why)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
