// YAML as a bounded tree: positions, what is put together again, limits.
#include "modelfile/files.h"

#include "modelfile/document.h"

static kd_file_findings findings;

static kd_document document_of(const char *text, size_t length, kd_status expected)
{
    kd_document document;
    memset(&findings, 0, sizeof findings);
    findings.file = "x";
    kd_status status = kd_document_read(text, length, &document, &findings);
    assert_int_equal(status, expected);
    assert_int_equal(findings.count, expected == KD_OK ? 0 : 1);
    return document;
}

static void assert_refused(const char *text, size_t length, int line, int column, const char *words)
{
    kd_document document = document_of(text, length, KD_ERR_MODEL);
    assert_int_equal(findings.item[0].line, line);
    assert_int_equal(findings.item[0].column, column);
    if (!strstr(findings.item[0].text, words)) print_error("%s\n", findings.item[0].text);
    assert_non_null(strstr(findings.item[0].text, words));
    kd_document_release(&document);
}

// Lines and columns count characters from 1, behind a byte order mark and behind letters of several bytes, too.
static void positions_count_characters(void **state)
{
    (void)state;
    const char  text[] = "\xEF\xBB\xBFgr\xC3\xB6\xC3\x9F"
                         "e: 1\n\xE2\x82\xAC: \"a\\tb\"\r\nb:   'it''s'\nc: x y\n";
    kd_document d = document_of(text, strlen(text), KD_OK);
    kd_node    *root = d.root;
    assert_int_equal(root->type, KD_NODE_MAP);
    assert_int_equal(root->n, 4);
    assert_int_equal(root->item[1].line, 1);
    assert_int_equal(root->item[1].column, 8);
    assert_int_equal(root->item[1].first, 8);
    assert_int_equal(root->item[3].line, 2);
    assert_int_equal(root->item[3].column, 4);
    assert_string_equal(root->item[3].text, "a\tb");
    assert_int_equal(root->item[3].first, 0); // the text is not in the file as it is
    assert_int_equal(root->item[5].line, 3);
    assert_string_equal(root->item[5].text, "it's");
    assert_int_equal(root->item[5].first, 0);
    assert_int_equal(root->item[7].first, 4);
    assert_true(root->item[7].plain && !root->item[5].plain);
    kd_document_release(&d);
}

static void assert_items(const char *text, int n, const char *const *item)
{
    kd_document d = document_of(text, strlen(text), KD_OK);
    int         texts = d.root->type == KD_NODE_MAP ? 2 * d.root->n : d.root->n;
    assert_int_equal(texts, n);
    for (int i = 0; i < n; i++) assert_string_equal(d.root->item[i].text, item[i]);
    kd_document_release(&d);
}

// Commas inside parentheses do not separate items, in lists and maps with brackets; what is not closed stays apart.
static void commas_in_parentheses(void **state)
{
    (void)state;
    assert_items("[max(a, b), 0]", 2, (const char *const[]){"max(a, b)", "0"});
    assert_items("[f(a,g(b,c),d), (1),2]", 3, (const char *const[]){"f(a,g(b,c),d)", "(1)", "2"});
    assert_items("[f(a,\n  b), c]", 2, (const char *const[]){"f(a,   b)", "c"});
    assert_items("{x: f(a, b), y: 2}", 4, (const char *const[]){"x", "f(a, b)", "y", "2"});
    assert_items("{x: f(a, b, c), y: g(1, 2)}", 4, (const char *const[]){"x", "f(a, b, c)", "y", "g(1, 2)"});
    assert_items("{l(i, j): f(a, b), m(i,j): 3}", 4, (const char *const[]){"l(i, j)", "f(a, b)", "m(i,j)", "3"});
    assert_items("[f(a, b]", 2, (const char *const[]){"f(a", "b"});
    assert_items("[\"f(a\", \"b)\"]", 2, (const char *const[]){"f(a", "b)"});
    assert_items("{a: f(b, c: 2)}", 4, (const char *const[]){"a", "f(b", "c", "2)"});
    assert_items("{a, b: 1}", 4, (const char *const[]){"a", "", "b", "1"});
}

// 32 levels are read, 33 are refused where the 33rd begins.
static void depth_is_bounded(void **state)
{
    (void)state;
    char text[200] = "";
    memset(text, '[', 32);
    memset(text + 32, ']', 32);
    kd_document d = document_of(text, 64, KD_OK);
    kd_document_release(&d);
    memset(text, '[', 33);
    memset(text + 33, ']', 33);
    assert_refused(text, 66, 1, 33, "more than 32 deep");
    memset(text, '[', sizeof text); // never closed
    assert_refused(text, sizeof text, 1, 33, "more than 32 deep");
}

// Two million values are the limit, and 64 MiB.
static void size_is_bounded(void **state)
{
    (void)state;
    size_t length = 4100000;
    char  *text = malloc(KD_DOCUMENT_MAX_BYTES + 10);
    assert_non_null(text);
    text[0] = '[';
    for (size_t i = 1; i < length; i++) text[i] = i % 2 ? 'a' : ',';
    assert_refused(text, length, 1, 2 * 1999999 + 2, "more than 2000000 values");
    memset(text, ' ', KD_DOCUMENT_MAX_BYTES + 10);
    assert_refused(text, KD_DOCUMENT_MAX_BYTES + 1, 0, 0, "larger than 64 MiB");
    free(text);
}

// Many keys are compared in reasonable time, and the second of two equal ones is found.
static void many_keys(void **state)
{
    (void)state;
    enum { N = 100000 };
    char  *text = malloc(N * 16);
    size_t used = 0;
    assert_non_null(text);
    for (int i = 0; i < N; i++) used += (size_t)sprintf(text + used, "key%d: 1\n", i);
    kd_document d = document_of(text, used, KD_OK);
    assert_int_equal(d.root->n, N);
    assert_string_equal(kd_node_find(d.root, "key777")->text, "1");
    assert_null(kd_node_find(d.root, "key"));
    kd_document_release(&d);
    used += (size_t)sprintf(text + used, "key777: 1\n");
    assert_refused(text, used, N + 1, 1, "'key777' is already in line 778");
    free(text);
}

// Bytes that are no UTF-8 are refused at their place: alone, cut off, overlong, surrogates, beyond Unicode.
static void utf8_is_checked(void **state)
{
    (void)state;
    static const char *const wrong[] = {"\x80",
                                        "\xC3",
                                        "\xC0\xAF",
                                        "\xE2\x82",
                                        "\xED\xA0\x80",
                                        "\xE0\x80\xAF",
                                        "\xF4\x90\x80\x80",
                                        "\xF0\x80\x80\xAF",
                                        "\xFF",
                                        "\xC3(",
                                        "\xF8\x88\x80\x80\x80"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        char text[40];
        snprintf(text, sizeof text, "a: 1\nb: x%s\n", wrong[i]);
        assert_refused(text, strlen(text), 2, 5, "not UTF-8");
    }
    assert_refused("\xFF\xFE"
                   "a\0",
                   4, 1, 1, "not UTF-8"); // UTF-16
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(positions_count_characters),
        cmocka_unit_test(commas_in_parentheses),
        cmocka_unit_test(depth_is_bounded),
        cmocka_unit_test(size_is_bounded),
        cmocka_unit_test(many_keys),
        cmocka_unit_test(utf8_is_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
