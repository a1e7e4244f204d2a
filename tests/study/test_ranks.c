// Studies on several processes by MPI: the same table for any number of ranks, killed ranks, plug-ins that are not there. Skipped where mpirun or
// the plug-in is missing.
#define _POSIX_C_SOURCE 200809L
#include <kardan/study.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "project/command.h"

#define FOLDER KD_BINARY_DIR "/ranks"
#define KARDAN "'" KD_BINARY_DIR "/kardan' study "
#define MPIRUN                                                                                                         \
    "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 "                   \
    "ASAN_OPTIONS=detect_leaks=0 mpirun -n "

static const char CAR[] = "model: " KD_SOURCE_DIR "/models/quarter-car.yaml\nrun: {t_end: 0.3, intervals: 30}\n"
                          "parameters:\n  ks: {range: [1e4, 3e4]}\n  cs: {range: [500, 4000]}\n"
                          "outputs:\n  comfort: {rms: comfort}\n  load: {rms: wheel-load}\n";

static void write_file(const char *path, const char *head, const char *tail)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    (void)fprintf(file, "%s%s\n", head, tail);
    assert_int_equal(fclose(file), 0);
}

static void must(const char *command)
{
    const command_result r = run_command(command);
    if (r.status != 0) fail_msg("%s\n%s", command, r.text);
}

static void skip_without_mpi(void)
{
    char why[1000] = "mpirun is not there";
    if (run_command("command -v mpirun").status == 0 && access(KD_BINARY_DIR "/kardan-mpi.so", R_OK) == 0) return;
    print_message("%s, or the plug-in is not built: skipped\n", why);
    skip();
}

// Rows of a design, and searches with a front: 1, 2, 3 and 7 ranks, 1 and 2 threads give the table of one process.
static void same_table(void **state)
{
    (void)state;
    char text[2000];
    skip_without_mpi();
    write_file(FOLDER "/car.yaml", CAR, "design: {latin: 30, seed: 2}");
    must(KARDAN "'" FOLDER "/car.yaml' --quiet --output '" FOLDER "/one'");
    static const int RANKS[][2] = {{1, 1}, {2, 1}, {3, 2}, {7, 1}};
    for (int i = 0; i < 4; i++) {
        snprintf(text, sizeof text,
                 MPIRUN "%d " KARDAN "'" FOLDER "/car.yaml' --mpi --quiet --jobs %d --output '" FOLDER
                        "/many%d' && cmp '" FOLDER "/one/table.csv' '" FOLDER
                        "/many%d/table.csv' && test $(cat '" FOLDER "/many%d'/rows*.log | grep -c .) = 30",
                 RANKS[i][0], RANKS[i][1], i, i, i);
        must(text);
    }
    write_file(FOLDER "/search.yaml", CAR, "optimise: {minimise: [comfort, load], starts: 2, front: 3, runs: 10}");
    const command_result alone = run_command(KARDAN "'" FOLDER "/search.yaml' --quiet --output '" FOLDER "/search1'");
    if (strstr(alone.text, "libnlopt-dev")) return; // built without
    assert_int_equal(alone.status, 0);
    must(MPIRUN "3 " KARDAN "'" FOLDER "/search.yaml' --quiet --output '" FOLDER "/search3' && cmp '" FOLDER
                "/search1/table.csv' '" FOLDER "/search3/table.csv'");
}

// How many rows are in the files of a folder
static int rows_in(const char *folder)
{
    char text[600];
    snprintf(text, sizeof text, "cat '%s'/rows*.log 2>/dev/null | grep -c .", folder);
    return atoi(run_command(text).text);
}

// A rank is killed a dozen times (KILLS=100: as often) in the middle of its work: mpirun ends the job; called again it goes on, and the table is that
// of a quiet run, every row made once.
static void killed_ranks(void **state)
{
    (void)state;
    char      text[3000], design[100];
    const int kills = getenv("KILLS") ? atoi(getenv("KILLS")) : 12, rows = 300 * kills;
    int       before = 0, inside = 0;
    skip_without_mpi();
    snprintf(design, sizeof design, "design: {latin: %d, seed: 3}", rows);
    write_file(FOLDER "/kill.yaml", CAR, design);
    must(KARDAN "'" FOLDER "/kill.yaml' --quiet --output '" FOLDER "/quiet'");
    for (int round = 0; round < kills; round++) {
        // one of the two ranks, of this job only: children of that mpirun; killed when the job has made some rows
        snprintf(text, sizeof text,
                 "{ " MPIRUN "2 " KARDAN "'" FOLDER "/kill.yaml' --quiet --output '" FOLDER "/killed' & } ; job=$!; "
                 "n=0; while kill -0 $job 2>/dev/null && test $n -lt 300 && "
                 "test $(cat '" FOLDER
                 "/killed'/rows*.log 2>/dev/null | grep -c .) -le %d; do sleep 0.01; n=$((n + 1)); done; "
                 "ranks=$(ps -o pid= --ppid $job); set -- $ranks; kill -9 $%d 2>/dev/null; wait $job; true",
                 before + round * 37 % 29, 1 + round % 2);
        (void)run_command(text);
        const int now = rows_in(FOLDER "/killed");
        inside += now > before && now < rows;
        before = now;
    }
    // how many come in time depends on the machine; most of them would tell the same
    if (inside < 1) fail_msg("none of %d kills came in the middle of work", kills);
    must(MPIRUN "2 " KARDAN "'" FOLDER "/kill.yaml' --quiet --output '" FOLDER "/killed' && cmp '" FOLDER
                "/quiet/table.csv' '" FOLDER "/killed/table.csv'");
    // nothing twice
    must("test -z \"$(cat '" FOLDER "/killed'/rows*.log | grep . | cut -f1 | sort | uniq -d)\"");
    print_message("%d of %d kills came in the middle of work\n", inside, kills);
}

// MPI that is not there is one sentence; without --mpi, processes that mpirun started share the folder, and say so.
static void absent(void **state)
{
    (void)state;
    write_file(FOLDER "/absent.yaml", "parameters: {x: {range: [0, 1]}}\n", "design: {grid: 3}\noutputs: {y: x}");
    const command_result r = run_command("KARDAN_MPI=/nowhere/kardan-mpi.so " KARDAN "'" FOLDER
                                         "/absent.yaml' --mpi --output '" FOLDER "/absent'");
    assert_int_equal(r.status, 1);
    assert_non_null(strstr(r.text, "kardan: KARDAN_MPI: /nowhere/kardan-mpi.so"));
    assert_null(strchr(strchr(r.text, '\n') + 1, '\n')); // one line
}

int main(void)
{
    if (run_command("rm -rf '" FOLDER "' && mkdir -p '" FOLDER "'").status != 0) return 1;
    const struct CMUnitTest tests[] = {cmocka_unit_test(same_table), cmocka_unit_test(killed_ranks),
                                       cmocka_unit_test(absent)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
