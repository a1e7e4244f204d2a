// cli/browser.h: a headless Chromium that shows a page and answers what its scripts say, over two pipes (the browser's
// own remote protocol: JSON messages, each with a zero byte behind it).
#ifndef KD_CLI_BROWSER_H
#define KD_CLI_BROWSER_H

#include <kardan/base.h>

typedef struct kd_browser kd_browser;

// Start it with a window of that size. KD_ERR_UNAVAILABLE: no browser is installed; KD_ERR_FILE: it does not start.
// message says why.
kd_status kd_browser_open(int width, int height, kd_browser **browser, char *message, size_t size) KD_NODISCARD;
void      kd_browser_close(kd_browser *browser); // NULL is fine

// Go to a page and wait until an expression of its scripts is true, at most that long.
kd_status kd_browser_show(kd_browser *browser, const char *url, const char *ready, double seconds, char *message,
                          size_t size) KD_NODISCARD;
// The text that an expression has, waiting for a promise; it is valid until the next call. NULL: message says why.
const char *kd_browser_ask(kd_browser *browser, const char *expression, char *message, size_t size);

#endif
