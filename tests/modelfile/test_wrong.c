// Wrong model files: each file in tests/modelfile/wrong says in its first lines which message must come, exactly:
//
//     # expect: name.yaml:line:column: element: cause, suggestion
//     # set: name=value                     (if a parameter is set from outside)
#define _POSIX_C_SOURCE 200809L
#include "modelfile/files.h"

#include <dirent.h>

#define FOLDER KD_SOURCE_DIR "/tests/modelfile/wrong"

// The text behind `mark` of all first lines, joined by ends of lines.
static void collect(const char *text, const char *mark, char *out, size_t size)
{
    out[0] = '\0';
    while (*text == '#') {
        size_t n = strcspn(text, "\n");
        if (strncmp(text, mark, strlen(mark)) == 0) {
            size_t used = strlen(out);
            snprintf(out + used, size - used, "%s%.*s", used > 0 ? "\n" : "", (int)(n - strlen(mark)),
                     text + strlen(mark));
        }
        text += n + (text[n] == '\n');
    }
}

// The message of a wrong file, or "" if it is right.
static bool is_as_expected(const char *name)
{
    char       path[1000], expected[8000], message[8000], setting[200];
    size_t     length;
    kd_setting settings[1] = {{setting, NULL}};
    kd_model  *m = NULL;
    snprintf(path, sizeof path, "%s/%s", FOLDER, name);
    char *text = file_content(path, &length);
    collect(text, "# expect: ", expected, sizeof expected);
    collect(text, "# set: ", setting, sizeof setting);
    char *equals = strchr(setting, '=');
    if (equals) {
        *equals = '\0';
        settings[0].value = equals + 1;
    }
    kd_status status = kd_model_read_text(name, text, length, settings, equals ? 1 : 0, &m, message, sizeof message);
    bool      fine = status == KD_ERR_MODEL && !m && expected[0] && strcmp(message, expected) == 0;
    if (!fine) print_error("%s\n expected: %s\n      got: %s\n", name, expected, message);
    kd_model_destroy(m);
    free(text);
    return fine;
}

// Every file of the folder gives exactly its message, and there are at least 60.
static void wrong_files_say_why(void **state)
{
    (void)state;
    DIR *folder = opendir(FOLDER);
    int  count = 0, failures = 0;
    assert_non_null(folder);
    for (struct dirent *entry = readdir(folder); entry; entry = readdir(folder)) {
        size_t n = strlen(entry->d_name);
        if (n < 5 || strcmp(entry->d_name + n - 5, ".yaml") != 0) continue;
        failures += !is_as_expected(entry->d_name);
        count++;
    }
    closedir(folder);
    assert_int_equal(failures, 0);
    assert_true(count >= 60);
}

// Any beginning of a right file is read or refused without harm, and so is a file with one byte changed.
static void broken_files_do_no_harm(void **state)
{
    (void)state;
    size_t length;
    char  *text = file_content(KD_SOURCE_DIR "/tests/modelfile/everything.yaml", &length);
    for (size_t i = 0; i < length; i += 7 + i % 13) {
        char      message[3000];
        kd_model *m = NULL;
        kd_status status = kd_model_read_text("cut", text, i, NULL, 0, &m, message, sizeof message);
        assert_true((status >= 0) == (m != NULL) && (status >= 0) == (message[0] == '\0'));
        kd_model_destroy(m);
        char kept = text[i];
        text[i] = "(){}[]:,-#'\"&*!%@\n\t 0x.\xff"[i % 25];
        status = kd_model_read_text("changed", text, length, NULL, 0, &m, message, sizeof message);
        assert_true((status >= 0) == (m != NULL) && (status >= 0) == (message[0] == '\0'));
        kd_model_destroy(m);
        text[i] = kept;
    }
    free(text);
}

// The text with `line` (which has one %d) repeated n times, read; the answer must be a refusal.
static void assert_refused(const char *head, const char *line, int n, const char *tail)
{
    size_t room = strlen(head) + strlen(tail) + (size_t)n * (strlen(line) + 12) + 1, used;
    char  *text = malloc(room), message[16000];
    assert_non_null(text);
    used = (size_t)snprintf(text, room, "%s", head);
    for (int i = 0; i < n; i++) {
        const char *number = strstr(line, "%d");
        used += (size_t)snprintf(text + used, room - used, "%.*s%d%s", (int)(number - line), line, i, number + 2);
    }
    used += (size_t)snprintf(text + used, room - used, "%s", tail);
    kd_model *m = NULL;
    assert_int_equal(kd_model_read_text("x", text, used, NULL, 0, &m, message, sizeof message), KD_ERR_MODEL);
    assert_true(strncmp(message, "x:", 2) == 0);
    free(text);
}

// Files in which everything is wrong are refused as quickly as others: 50,000 wrong lines each, not compared each with
// each.
static void everything_wrong_is_quick(void **state)
{
    (void)state;
    enum { N = 50000 };
    assert_refused("kardan: 1\n", "section%d: 1\n", N, "");
    assert_refused("kardan: 1\nparameters:\n", "  p%d: 2*nothing\n", N, "");
    assert_refused("kardan: 1\nparameters:\n", "  p-%d: 2\n", N, "");
    assert_refused("kardan: 1\nbodies:\n  a:\n", "    key%d: 1\n", N, "");
    assert_refused("kardan: 1\nbodies:\n", "  a%d: {mass: 1, inertia: [1, 1]}\n", N, "");
    assert_refused("kardan: 1\nbodies:\n", "  a%d: {mass: 1, inertia: [1, 1, 1]}\n", N,
                   "joints:\n  j(i): {for: i = 1..50000, type: free, bodies: [ground, b(i)]}\n"
                   "  k1: {type: free, bodies: [ground, c]}\n  k2: {type: free, bodies: [ground, c]}\n"
                   "sensors: {s(i): {for: i = 1..50000, value: body.b(i).pos.x}}\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_files_say_why),
        cmocka_unit_test(broken_files_do_no_harm),
        cmocka_unit_test(everything_wrong_is_quick),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
