// Files: complete under their name or not there; devices and links are respected.
#define _XOPEN_SOURCE 700
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "project/command.h"
#include "results/file.h"

#define FOLDER KD_BINARY_DIR "/test-file"
#define PATH FOLDER "/result"

static int start_afresh(void **state)
{
    (void)state;
    return run_command("rm -rf '" FOLDER "' && mkdir '" FOLDER "'").status;
}

static void write_file(const char *path, const char *text)
{
    FILE *file;
    assert_int_equal(kd_file_open(path, &file, NULL, 0), KD_OK);
    fputs(text, file);
    assert_int_equal(kd_file_close(file, path, NULL, 0), KD_OK);
}

static void must_hold(const char *path, const char *text)
{
    char *found = read_text(path);
    assert_non_null(found);
    assert_string_equal(found, text);
    free(found);
}

// While a file is written its name shows what was there before, afterwards all of the new text, and nothing else is
// left in the folder.
static void appears_when_complete(void **state)
{
    (void)state;
    FILE *file;
    for (int k = 0; k < 2; k++) {
        assert_int_equal(kd_file_open(PATH, &file, NULL, 0), KD_OK);
        fputs(k ? "second" : "first", file);
        fflush(file);
        char *before = read_text(PATH);
        assert_int_equal(before != NULL, k == 1);
        if (before) assert_string_equal(before, "first");
        free(before);
        assert_int_equal(kd_file_close(file, PATH, NULL, 0), KD_OK);
        must_hold(PATH, k ? "second" : "first");
    }
    assert_string_equal(run_command("ls '" FOLDER "'").text, "result\n");
}

// A disk that is full in the middle: a message with path and reason, the old file untouched, nothing left behind.
static void full_disk_leaves_the_old_file(void **state)
{
    (void)state;
    struct rlimit before, small;
    char          message[300] = "";
    FILE         *file;
    write_file(PATH, "old");
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    signal(SIGXFSZ, SIG_IGN);
    small = before;
    small.rlim_cur = 10000;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    kd_status opened = kd_file_open(PATH, &file, message, sizeof message);
    for (int i = 0; i < 5000 && opened == KD_OK; i++) fputs("many words ", file);
    kd_status closed = opened == KD_OK ? kd_file_close(file, PATH, message, sizeof message) : KD_OK;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(opened, KD_OK);
    assert_int_equal(closed, KD_ERR_FILE);
    assert_non_null(strstr(message, "cannot write '" PATH "': "));
    must_hold(PATH, "old");
    assert_string_equal(run_command("ls '" FOLDER "'").text, "result\n");
}

// What is given up leaves nothing.
static void abandoned_is_gone(void **state)
{
    (void)state;
    FILE *file;
    assert_int_equal(kd_file_open(PATH, &file, NULL, 0), KD_OK);
    fputs("text", file);
    kd_file_abandon(file, PATH);
    kd_file_abandon(NULL, PATH);
    assert_string_equal(run_command("ls '" FOLDER "'").text, "");
}

// A link stays a link, and the file behind it gets the text; a device stays a device.
static void links_and_devices_stay(void **state)
{
    (void)state;
    struct stat found;
    write_file(FOLDER "/target", "old");
    assert_int_equal(symlink("target", PATH), 0);
    write_file(PATH, "new");
    must_hold(FOLDER "/target", "new");
    assert_int_equal(lstat(PATH, &found), 0);
    assert_true(S_ISLNK(found.st_mode));
    write_file("/dev/null", "gone");
    assert_int_equal(stat("/dev/null", &found), 0);
    assert_true(S_ISCHR(found.st_mode));
}

// Places where no file can be say why.
static void impossible_places_are_named(void **state)
{
    (void)state;
    char  message[6000] = "", path[5000];
    FILE *file = stdin;
    assert_int_equal(kd_file_open(FOLDER "/no/such/file", &file, message, sizeof message), KD_ERR_FILE);
    assert_null(file);
    assert_non_null(strstr(message, "/no/such/file' for writing: No such file"));
    assert_int_equal(kd_file_open(FOLDER, &file, message, sizeof message), KD_ERR_FILE);
    assert_non_null(strstr(message, "directory"));
    memset(path, 'x', sizeof path - 1);
    path[sizeof path - 1] = '\0';
    assert_int_equal(kd_file_open(path, &file, message, sizeof message), KD_ERR_FILE);
    assert_non_null(strstr(message, "too long"));
}

// Text in a page: marks are escaped, lines are kept, other control characters are dropped.
static void lines_are_escaped(void **state)
{
    (void)state;
    FILE *file;
    assert_int_equal(kd_file_open(PATH, &file, NULL, 0), KD_OK);
    kd_file_escaped_lines(file, "a: <1>\n\tb & \x01"
                                "c\n");
    assert_int_equal(kd_file_close(file, PATH, NULL, 0), KD_OK);
    must_hold(PATH, "a: &lt;1&gt;\n\tb &amp; c\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(appears_when_complete, start_afresh),
        cmocka_unit_test_setup(full_disk_leaves_the_old_file, start_afresh),
        cmocka_unit_test_setup(abandoned_is_gone, start_afresh),
        cmocka_unit_test_setup(links_and_devices_stay, start_afresh),
        cmocka_unit_test_setup(impossible_places_are_named, start_afresh),
        cmocka_unit_test_setup(lines_are_escaped, start_afresh),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
