// cli/serve.h: one page and a line to it, for this machine alone: HTTP and WebSocket (libwebsockets) on 127.0.0.1.
//
// The address has a random token of 128 bits; requests without it, with the name of another host or, on the line, of
// another origin are refused. There are no files: the page is a text in memory. Messages of pages are bounded, those to
// pages are the newest of their kind: a page that is slow misses some, and nothing piles up.
#ifndef KD_CLI_SERVE_H
#define KD_CLI_SERVE_H

#include <kardan/base.h>

enum { KD_SERVER_PAGES = 8, KD_SERVER_KINDS = 8 }; // pages at a time; kinds of messages

typedef struct kd_server kd_server;

typedef struct kd_server_listener {
    void (*hear)(const char *bytes, size_t size, void *context); // a message of a page
    void (*tick)(void *context);                                 // every so many seconds
    double seconds;
    void  *context;
} kd_server_listener;

// Listen on a free port. KD_ERR_UNAVAILABLE: built without libwebsockets; KD_ERR_CONNECTION: not possible. message says
// why.
kd_status   kd_server_open(const kd_server_listener *listener, kd_server **server, char *message,
                           size_t size) KD_NODISCARD;
void        kd_server_close(kd_server *server);         // NULL is fine
const char *kd_server_address(const kd_server *server); // http://127.0.0.1:PORT/TOKEN/
int         kd_server_port(const kd_server *server);
// The page and what its content security policy says; copied.
kd_status kd_server_set_page(kd_server *server, const char *html, size_t size, const char *policy) KD_NODISCARD;

// Say something to all pages, those that come later included; the next of its kind takes its place. size 0: nothing any
// more.
kd_status kd_server_say(kd_server *server, int kind, const void *bytes, size_t size, bool binary) KD_NODISCARD;
int       kd_server_pages(const kd_server *server); // that are open
// Wait for what happens next, at most until the next tick. false: it cannot go on.
bool kd_server_serve(kd_server *server);

#endif
