// XML: the tree, and what is refused before it can do harm.
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "modelfile/xml.h"

static bool available(void)
{
    kd_arena        arena = {0};
    kd_xml_element *root;
    int             line;
    const kd_status status = kd_xml_read("<a/>", 4, &arena, &root, &line, NULL, 0);
    kd_arena_release(&arena);
    if (status == KD_ERR_UNAVAILABLE) print_message("skipped: built without libxml2\n");
    return status != KD_ERR_UNAVAILABLE;
}

// The tree has elements, attributes, prefixes, lines and the order of the text.
static void the_tree(void **state)
{
    (void)state;
    if (!available()) skip();
    const char     *text = "<?xml version='1.0'?>\n<robot name='r&amp;d' xmlns:x='u:x'>\n <link a='1' b=''/>\n"
                           " <x:macro/>\n text &lt;\n <joint>\n  <axis/><limit/>\n </joint>\n</robot>\n";
    kd_arena        arena = {0};
    kd_xml_element *root;
    int             line;
    assert_int_equal(kd_xml_read(text, strlen(text), &arena, &root, &line, NULL, 0), KD_OK);
    assert_string_equal(root->name, "robot");
    assert_string_equal(kd_xml_attribute_of(root, "name"), "r&d");
    assert_null(kd_xml_attribute_of(root, "other"));
    assert_int_equal(root->ninside, 5);
    const kd_xml_element *link = root->child, *macro = link->next, *joint = macro->next;
    assert_int_equal(link->line, 3);
    assert_int_equal(link->nattributes, 2);
    assert_string_equal(kd_xml_attribute_of(link, "b"), "");
    assert_string_equal(macro->name, "x:macro");
    assert_int_equal(joint->line, 6);
    assert_null(joint->next);
    assert_ptr_equal(kd_xml_child(root, "joint"), joint);
    assert_string_equal(kd_xml_child(joint, "limit")->name, "limit");
    assert_null(kd_xml_child(joint, "mimic"));
    kd_arena_release(&arena);
}

// Wrong texts, entities, DTDs, depth: an error with its line, and nothing is read from elsewhere.
static void refused(void **state)
{
    (void)state;
    if (!available()) skip();
    static const struct {
        const char *text;
        int         line;
        const char *message;
    } cases[] = {
        {"", 0, ""},
        {"no xml", 1, ""},
        {"<a>\n<b>\n</a>", 3, "mismatch"},
        {"<a>\n", 0, ""},
        {"<a x='1' x='2'/>", 1, ""},
        {"<a>&unknown;</a>", 1, "unknown"},
        {"<!DOCTYPE a [<!ENTITY x 'xx'>]>\n<a>&x;</a>", 1, "DOCTYPE is not accepted"},
        {"<!DOCTYPE a SYSTEM 'file:///etc/passwd'><a/>", 1, "DOCTYPE is not accepted"},
        {"<a/><b/>", 1, ""},
        {"\xff\xfe\x00", 0, ""},
        {"<a b='\xff'/>", 0, ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        kd_arena        arena = {0};
        kd_xml_element *root;
        int             line;
        char            message[300] = "";
        const kd_status status =
            kd_xml_read(cases[i].text, strlen(cases[i].text), &arena, &root, &line, message, sizeof message);
        kd_arena_release(&arena);
        if (status != KD_ERR_MODEL) fail_msg("%s: %s", cases[i].text, kd_status_name(status));
        assert_null(root);
        if (cases[i].line > 0) assert_int_equal(line, cases[i].line);
        if (!strstr(message, cases[i].message)) fail_msg("%s: %s", cases[i].text, message);
        assert_true(message[0] != '\0');
    }
}

// Depth and number of elements are bounded.
static void bounded(void **state)
{
    (void)state;
    if (!available()) skip();
    const int   n = KD_XML_MAX_ITEMS + 1;
    char       *text = malloc((size_t)n * 4 + 8);
    const char *message[2] = {"nested too deeply", "too many elements"};
    for (int k = 0; k < 2; k++) {
        size_t length = 0;
        if (k == 0) {
            for (int i = 0; i < 200; i++) length += (size_t)sprintf(text + length, "<a>");
        } else {
            length += (size_t)sprintf(text, "<a>");
            for (int i = 0; i < n; i++) {
                memcpy(text + length, "<b/>", 4);
                length += 4;
            }
        }
        kd_arena        arena = {0};
        kd_xml_element *root;
        int             line;
        char            why[300];
        assert_int_equal(kd_xml_read(text, length, &arena, &root, &line, why, sizeof why), KD_ERR_MODEL);
        assert_non_null(strstr(why, message[k]));
        kd_arena_release(&arena);
    }
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_tree), cmocka_unit_test(refused),
                                       cmocka_unit_test(bounded)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
