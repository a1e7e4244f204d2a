// serve.c: the page of kardan view and the line to it, by libwebsockets. One thread: ticks come from the same loop.
#define _DEFAULT_SOURCE
#include "cli/serve.h"

#include "core/text.h"

#ifndef KD_WITH_WEBSOCKETS

kd_status kd_server_open(const kd_server_listener *listener, kd_server **server, char *message, size_t size)
{
    (void)listener;
    *server = NULL;
    kd_text(message, size, "this kardan was built without libwebsockets (package libwebsockets-dev)");
    return KD_ERR_UNAVAILABLE;
}

void kd_server_close(kd_server *server)
{
    (void)server;
}

const char *kd_server_address(const kd_server *server)
{
    (void)server;
    return "";
}

int kd_server_port(const kd_server *server)
{
    (void)server;
    return 0;
}

kd_status kd_server_set_page(kd_server *server, const char *html, size_t size, const char *policy)
{
    (void)server, (void)html, (void)size, (void)policy;
    return KD_ERR_UNAVAILABLE;
}

kd_status kd_server_say(kd_server *server, int kind, const void *bytes, size_t size, bool binary)
{
    (void)server, (void)kind, (void)bytes, (void)size, (void)binary;
    return KD_ERR_UNAVAILABLE;
}

int kd_server_pages(const kd_server *server)
{
    (void)server;
    return 0;
}

bool kd_server_serve(kd_server *server)
{
    (void)server;
    return false;
}

#else

#include <libwebsockets.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "cli/live_message.h"

// bytes of the token, letters of it, bytes of one write, longest address
enum { TOKEN = 16, WORD = 2 * TOKEN, PIECE = 16384, PATH = 200 };

// The newest message of a kind, with room in front for the library
typedef struct news {
    unsigned char *bytes; // LWS_PRE before the content
    size_t         size, room;
    bool           binary;
    unsigned long  number; // 0: nothing yet
} news;

// one page in memory and the newest messages for all that have it open
struct kd_server {
    struct lws_context    *context;
    struct lws_vhost      *host;
    lws_sorted_usec_list_t clock;
    kd_server_listener     listener;
    struct lws_protocols   protocols[3];
    int                    port, pages;
    char                   token[WORD + 1], address[PATH];
    unsigned char         *page;
    size_t                 page_size;
    unsigned long          edition; // counts the pages that were set
    char                   policy[600];
    news                   news[KD_SERVER_KINDS];
};

// One connection: how much of the page it has, or which messages
typedef struct connection {
    size_t        sent;
    unsigned long edition; // of the page that it is sent
    bool          counted;
    unsigned long seen[KD_SERVER_KINDS];
} connection;

// ---- who may come in ------------------------------------------------------------------------------------------------
// Without telling by its time how much of it is right
static bool is_token(const kd_server *s, const char *text)
{
    unsigned char different = 0;
    if (strlen(text) < WORD) return false;
    for (int i = 0; i < WORD; i++) different |= (unsigned char)(text[i] ^ s->token[i]);
    return different == 0;
}

// Is the path "/TOKEN" and then the rest?
static bool is_ours(const kd_server *s, const char *path, const char *rest)
{
    return path[0] == '/' && is_token(s, path + 1) && strcmp(path + 1 + WORD, rest) == 0;
}

// A header is what this address says, by number or by name
static bool names_us(const kd_server *s, struct lws *wsi, enum lws_token_indexes header, const char *front)
{
    char text[PATH], number[PATH], name[PATH];
    if (lws_hdr_copy(wsi, text, sizeof text, header) <= 0) return false;
    snprintf(number, sizeof number, "%s127.0.0.1:%d", front, s->port);
    snprintf(name, sizeof name, "%slocalhost:%d", front, s->port);
    return strcmp(text, number) == 0 || strcmp(text, name) == 0;
}

// number of pages, token, host and origin: another site in the same browser does not get in
static bool may_connect(const kd_server *s, struct lws *wsi)
{
    char path[PATH];
    return s->pages < KD_SERVER_PAGES && lws_hdr_copy(wsi, path, sizeof path, WSI_TOKEN_GET_URI) > 0 &&
           is_ours(s, path, "/live") && names_us(s, wsi, WSI_TOKEN_HOST, "") &&
           names_us(s, wsi, WSI_TOKEN_ORIGIN, "http://");
}

// ---- the page -------------------------------------------------------------------------------------------------------
static int put_header(struct lws *wsi, const char *name, const char *value, unsigned char **at, unsigned char *end)
{
    return lws_add_http_header_by_name(wsi, (const unsigned char *)name, (const unsigned char *)value,
                                       (int)strlen(value), at, end);
}

static int answer_request(kd_server *s, struct lws *wsi, const char *path)
{
    // whoever does not know the token learns nothing, not even that there is a page
    unsigned char head[LWS_PRE + 2048], *at = head + LWS_PRE, *end = head + sizeof head - 1;
    if (!is_ours(s, path, "/") || !names_us(s, wsi, WSI_TOKEN_HOST, "")) {
        if (lws_return_http_status(wsi, HTTP_STATUS_FORBIDDEN, NULL) != 0) return -1;
        return lws_http_transaction_completed(wsi) ? -1 : 0;
    }
    // nothing is cached, framed or sent elsewhere
    if (lws_add_http_common_headers(wsi, HTTP_STATUS_OK, "text/html; charset=utf-8", s->page_size, &at, end) ||
        put_header(wsi, "content-security-policy:", s->policy, &at, end) ||
        put_header(wsi, "cache-control:", "no-store", &at, end) ||
        put_header(wsi, "referrer-policy:", "no-referrer", &at, end) ||
        put_header(wsi, "x-content-type-options:", "nosniff", &at, end) ||
        put_header(wsi, "x-frame-options:", "deny", &at, end) ||
        lws_finalize_write_http_header(wsi, head + LWS_PRE, &at, end))
        return -1;
    lws_callback_on_writable(wsi);
    return 0;
}

// The page goes out in pieces
static int send_page(kd_server *s, struct lws *wsi, connection *c)
{
    unsigned char piece[LWS_PRE + PIECE];
    // the page was replaced meanwhile: the length that was promised is that of the old one
    if (c->edition != s->edition) return -1;
    // as much as one write may take
    const size_t left = s->page_size - c->sent, n = left < PIECE ? left : PIECE;
    memcpy(piece + LWS_PRE, s->page + c->sent, n);
    c->sent += n;
    const bool last = c->sent == s->page_size;
    if (lws_write(wsi, piece + LWS_PRE, n, last ? LWS_WRITE_HTTP_FINAL : LWS_WRITE_HTTP) < 0) return -1;
    if (!last) return lws_callback_on_writable(wsi) < 0 ? -1 : 0;
    return lws_http_transaction_completed(wsi) ? -1 : 0;
}

// callbacks of the library: a request, then room to write
static int serve_http(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in, size_t length)
{
    kd_server *s = lws_context_user(lws_get_context(wsi));
    switch (reason) {
    case LWS_CALLBACK_HTTP:
        ((connection *)user)->sent = 0;
        ((connection *)user)->edition = s->edition;
        return answer_request(s, wsi, in);
    case LWS_CALLBACK_HTTP_WRITEABLE:
        return user ? send_page(s, wsi, user) : 0;
    case LWS_CALLBACK_FILTER_PROTOCOL_CONNECTION:
        return 1; // a line has its own protocol
    default:
        return lws_callback_http_dummy(wsi, reason, user, in, length);
    }
}

// ---- the line -------------------------------------------------------------------------------------------------------
// The next message that this page has not seen
static int send_news(kd_server *s, struct lws *wsi, connection *c)
{
    for (int i = 0; i < KD_SERVER_KINDS; i++) {
        news *n = &s->news[i];
        // one message each time: the library calls again when there is room
        if (n->size == 0 || c->seen[i] == n->number) continue;
        c->seen[i] = n->number;
        if (lws_write(wsi, n->bytes + LWS_PRE, n->size, n->binary ? LWS_WRITE_BINARY : LWS_WRITE_TEXT) < 0) return -1;
        return lws_callback_on_writable(wsi) < 0 ? -1 : 0;
    }
    return 0;
}

// callbacks of a line: admission, coming and going, room to write, words
static int serve_line(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in, size_t length)
{
    kd_server  *s = lws_context_user(lws_get_context(wsi));
    connection *c = user;
    switch (reason) {
    case LWS_CALLBACK_FILTER_PROTOCOL_CONNECTION:
        return may_connect(s, wsi) ? 0 : 1;
    case LWS_CALLBACK_ESTABLISHED:
        memset(c, 0, sizeof *c);
        c->counted = true;
        s->pages++;
        lws_callback_on_writable(wsi);
        return 0;
    case LWS_CALLBACK_CLOSED:
        if (c->counted) s->pages--;
        c->counted = false;
        return 0;
    case LWS_CALLBACK_SERVER_WRITEABLE:
        return send_news(s, wsi, c);
    case LWS_CALLBACK_RECEIVE:
        // whole messages of text that are short; whoever sends others is hung up on
        if (!lws_is_first_fragment(wsi) || !lws_is_final_fragment(wsi) || lws_frame_is_binary(wsi) ||
            length > KD_LIVE_LONGEST)
            return -1;
        s->listener.hear(in, length, s->listener.context);
        return 0;
    default:
        return 0;
    }
}

// the next tick is ordered before this one works: its time does not add up
static void tick(lws_sorted_usec_list_t *clock)
{
    kd_server *s = lws_container_of(clock, kd_server, clock);
    lws_sul_schedule(s->context, 0, &s->clock, tick, (lws_usec_t)(1e6 * s->listener.seconds));
    s->listener.tick(s->listener.context);
}

// ---- exported -------------------------------------------------------------------------------------------------------

// 128 bits that nobody can guess
static bool make_token(char *token)
{
    unsigned char bytes[TOKEN];
    if (getrandom(bytes, sizeof bytes, 0) != sizeof bytes) return false;
    for (int i = 0; i < TOKEN; i++) snprintf(token + 2 * i, 3, "%02x", bytes[i]);
    return true;
}

kd_status kd_server_open(const kd_server_listener *listener, kd_server **server, char *message, size_t size)
{
    kd_server *s = calloc(1, sizeof *s);
    *server = NULL;
    if (!s) return KD_ERR_MEMORY;
    // two protocols: the page, and the line with its words
    s->listener = *listener;
    s->protocols[0] =
        (struct lws_protocols){.name = "http", .callback = serve_http, .per_session_data_size = sizeof(connection)};
    s->protocols[1] = (struct lws_protocols){.name = "kardan",
                                             .callback = serve_line,
                                             .per_session_data_size = sizeof(connection),
                                             .rx_buffer_size = 2 * KD_LIVE_LONGEST};
    // this machine only, on a port that the system chooses
    const struct lws_context_creation_info info = {
        .port = 0,
        .iface = "127.0.0.1",
        .protocols = s->protocols,
        .gid = -1,
        .uid = -1,
        .user = s,
        .options = LWS_SERVER_OPTION_EXPLICIT_VHOSTS | LWS_SERVER_OPTION_DISABLE_IPV6,
    };
    // the library keeps silent
    lws_set_log_level(0, NULL);
    if (make_token(s->token)) s->context = lws_create_context(&info);
    if (s->context) s->host = lws_create_vhost(s->context, &info);
    if (!s->host) {
        kd_text(message, size, "no port of this machine (127.0.0.1) can be listened on");
        kd_server_close(s);
        return KD_ERR_CONNECTION;
    }
    // the address with the token is the key
    s->port = lws_get_vhost_listen_port(s->host);
    snprintf(s->address, sizeof s->address, "http://127.0.0.1:%d/%s/", s->port, s->token);
    tick(&s->clock);
    *server = s;
    return KD_OK;
}

void kd_server_close(kd_server *s)
{
    if (!s) return;
    if (s->context) lws_context_destroy(s->context);
    for (int i = 0; i < KD_SERVER_KINDS; i++) free(s->news[i].bytes);
    free(s->page);
    free(s);
}

const char *kd_server_address(const kd_server *s)
{
    return s->address;
}

int kd_server_port(const kd_server *s)
{
    return s->port;
}

kd_status kd_server_set_page(kd_server *s, const char *html, size_t size, const char *policy)
{
    unsigned char *page = malloc(size + 1);
    if (!page) return KD_ERR_MEMORY;
    memcpy(page, html, size);
    free(s->page);
    s->page = page;
    s->page_size = size;
    s->edition++;
    kd_text(s->policy, sizeof s->policy, "%s", policy);
    return KD_OK;
}

kd_status kd_server_say(kd_server *s, int kind, const void *bytes, size_t size, bool binary)
{
    news *n = &s->news[kind];
    // the buffer grows to what is needed and stays
    if (size > n->room) {
        unsigned char *larger = malloc(LWS_PRE + 2 * size);
        if (!larger) return KD_ERR_MEMORY;
        free(n->bytes);
        n->bytes = larger;
        n->room = 2 * size;
    }
    if (size > 0) memcpy(n->bytes + LWS_PRE, bytes, size);
    n->size = size;
    n->binary = binary;
    // pages that have another number have not seen it
    n->number++;
    lws_callback_on_writable_all_protocol(s->context, &s->protocols[1]);
    return KD_OK;
}

int kd_server_pages(const kd_server *s)
{
    return s->pages;
}

bool kd_server_serve(kd_server *s)
{
    return lws_service(s->context, 0) >= 0;
}

#endif
