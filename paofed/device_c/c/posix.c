/*
 * A device as a program, over libmosquitto: cc -std=c99 posix.c paofed_*.c -lmosquitto
 *
 * Reads samples, the inputs and then the target, a line each with commas or blanks between the
 * numbers; behind a text is a comma. Where the time matters it is the last input, in seconds since
 * 1970. Prints a prediction for every sample before it learns from it, and "confirmed TICK" for
 * every update that the server has on its disk.
 */
#define _POSIX_C_SOURCE 200809L
#define PAOFED_FLEET_HERE
#include "paofed_fleet.h"

#include <errno.h>
#include <fcntl.h>
#include <mosquitto.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    KEEP_ALIVE = 30,       /* seconds */
    SHORTEST_PAUSE = 500,  /* milliseconds before the first new try to connect; */
    LONGEST_PAUSE = 60000, /* each pause is twice the last, up to this */
    PACE = 1000,           /* milliseconds from contact to contact; doubled after each */
    MOST_DOUBLED = 20,     /* that is not answered, so many times at most, up to a tick */
    LINGER = 5000,         /* milliseconds to wait for joining, and for replies at the end */
    LONGEST_LINE = 64 * (PAOFED_INPUTS + 2),
    LONGEST_NAME = 250 /* bytes */
};

static const char USAGE[] =
    "usage: posix -h HOST -p PORT -t NAME/k -s STATE\n"
    "    [-a AUTHORITY -c CERTIFICATE -k KEY | -a AUTHORITY -u USER -w PASSWORD_FILE]\n"
    "    [-f SAMPLES (standard input)] [-i MILLISECONDS from sample to sample (0)]\n"
    "    [-v MILLISECONDS from saving to saving (60000)]\n";

static struct paofed device;
static struct mosquitto *broker;
static volatile sig_atomic_t ended;
static bool connected;
static bool away;  /* whether the last connection has failed */
static bool told;  /* whether people were told that */
static uint32_t failed_at; /* when it failed; the next is tried after a pause */
static uint32_t pause_now;
static uint32_t pause_next = SHORTEST_PAUSE; /* the next pause, longer each time */
static bool asked; /* whether the manifest was asked for on this connection */
static char down[LONGEST_NAME + 4];
static char up[LONGEST_NAME + 4];
static char agreed[LONGEST_NAME + 4]; /* the topic of the manifest */
static const char *state;

static void end(int number)
{
    (void)number;
    ended = 1;
}

static uint32_t milliseconds(void *context)
{
    struct timespec now = {0, 0};

    (void)context;
#ifdef CLOCK_BOOTTIME
    (void)clock_gettime(CLOCK_BOOTTIME, &now);
#else
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
#endif
    return (uint32_t)((uint64_t)now.tv_sec * 1000u + (uint64_t)now.tv_nsec / 1000000u);
}

static void publish(void *context, const uint8_t *message, size_t size)
{
    (void)context;
    (void)mosquitto_publish(broker, NULL, up, (int)size, message, 0, false);
}

static int slot_file(unsigned slot, int flags)
{
    char path[LONGEST_NAME + 4];

    (void)snprintf(path, sizeof path, "%s.%u", state, slot);
    return open(path, flags, 0600);
}

static bool write_slot(void *context, unsigned slot, const void *bytes, size_t size)
{
    const int file = slot_file(slot, O_WRONLY | O_CREAT);
    bool written;

    (void)context;
    if (file < 0) {
        return false;
    }
    written = write(file, bytes, size) == (ssize_t)size;
    written = (fsync(file) == 0) && written;
    return (close(file) == 0) && written;
}

static bool read_slot(void *context, unsigned slot, void *bytes, size_t size)
{
    const int file = slot_file(slot, O_RDONLY);
    bool found;

    (void)context;
    if (file < 0) {
        return false;
    }
    found = read(file, bytes, size) == (ssize_t)size;
    (void)close(file);
    return found;
}

static const struct paofed_port port = {NULL, milliseconds, publish, write_slot, read_slot};

static void save(void)
{
    if (!paofed_save(&device)) {
        (void)fprintf(stderr, "posix: %s cannot be written: %s\n", state, strerror(errno));
    }
}

/* Note that the connection failed; the next is tried after a partly random pause. */
static void not_reached(const char *why)
{
    away = true;
    connected = false;
    failed_at = milliseconds(NULL);
    pause_now = pause_next / 2u + (uint32_t)rand() % (pause_next / 2u + 1u);
    pause_next = (2u * pause_next > LONGEST_PAUSE) ? LONGEST_PAUSE : 2u * pause_next;
    if (!told) {
        (void)fprintf(stderr, "posix: the broker is not reached (%s); trying on\n", why);
        told = true;
    }
}

static void on_connect(struct mosquitto *client, void *context, int code)
{
    (void)context;
    if (code != 0) { /* the broker then ends the connection */
        (void)fprintf(stderr, "posix: %s\n", mosquitto_connack_string(code));
        told = true;
        return;
    }
    connected = true;
    told = false;
    asked = false;
    pause_next = SHORTEST_PAUSE;
    (void)mosquitto_subscribe(client, NULL, down, 0);
}

/* Follow what the fleet has agreed on, if no new header is needed for it. */
static void read_manifest(const char *text, size_t size)
{
    struct paofed_manifest manifest;

    paofed_manifest_begin(&manifest);
    paofed_manifest_read(&manifest, text, size);
    if (paofed_manifest_follow(&device, &manifest)) {
        (void)mosquitto_unsubscribe(broker, NULL, agreed);
        asked = false;
    } else { /* the next manifest comes without asking */
        (void)fputs("posix: the fleet has changed what this program was built for; it goes on "
                    "alone: write the header anew\n", stderr);
    }
}

/* Take a message, and say which of the updates that waited are confirmed. */
static void on_message(struct mosquitto *client, void *context,
                       const struct mosquitto_message *message)
{
    unsigned confirmed;
    unsigned i;

    (void)client;
    (void)context;
    if (message->payloadlen <= 0) {
        return;
    }
    if (strcmp(message->topic, agreed) == 0) {
        read_manifest(message->payload, (size_t)message->payloadlen);
        return;
    }
    confirmed = paofed_receive(&device, message->payload, (size_t)message->payloadlen);
    for (i = 0u; i < confirmed; i++) {
        (void)printf("confirmed %lu\n", (unsigned long)device.confirmed[i]);
    }
    (void)fflush(stdout);
}

/* Return what went wrong in words, from the code that libmosquitto returned. */
static const char *reason(int code)
{
    return (code == MOSQ_ERR_ERRNO) ? strerror(errno) : mosquitto_strerror(code);
}

/* Receive and send for so many milliseconds, or try again to connect. */
static void talk(int wait)
{
    int code;

    if (away && (milliseconds(NULL) - failed_at < pause_now)) {
        (void)poll(NULL, 0, wait);
        return;
    }
    code = away ? mosquitto_reconnect(broker) : mosquitto_loop(broker, wait, 1);
    if (code == MOSQ_ERR_SUCCESS) {
        away = false;
    } else {
        not_reached(reason(code));
    }
}

/* Contact the fleet, if it is time. Returns false where the server has all that was learned. */
static bool contact(void)
{
    static uint32_t contacted;
    static bool before;
    const uint32_t doubled = (device.unanswered < MOST_DOUBLED) ? device.unanswered : MOST_DOUBLED;
    const uint32_t pace = (uint32_t)PACE << doubled;
    const uint32_t shortest = (pace < paofed_fleet.tick_ms) ? pace : paofed_fleet.tick_ms;

    if (connected && device.outdated && !asked) { /* subscribing brings the manifest at once */
        asked = mosquitto_subscribe(broker, NULL, agreed, 0) == MOSQ_ERR_SUCCESS;
    }
    if (!connected || device.outdated || (before && (milliseconds(NULL) - contacted < shortest))) {
        return true;
    }
    contacted = milliseconds(NULL);
    before = true;
    return paofed_contact(&device);
}

#if PAOFED_TRANSFORMS
/* Read a text up to a comma, without the blanks behind it. Returns what follows. */
static const char *read_text(const char *rest, uint16_t input, paofed_value *value)
{
    static char text[LONGEST_LINE];
    const size_t field = strcspn(rest, ",");
    size_t length = field;

    while ((length > 0u) && (strchr(" \t\r", rest[length - 1u]) != NULL)) {
        length--;
    }
    (void)memcpy(text, rest, length);
    text[length] = '\0';
    *value = paofed_place(&paofed_fleet, input, text);
    return rest + field;
}
#endif

/* Read one value of a line. Returns what follows, which is the same where there was no value. */
static const char *read_value(const char *rest, uint16_t input, paofed_value *value)
{
    char *after;

#if PAOFED_TRANSFORMS
    if (paofed_is_text(&paofed_fleet, input)) {
        return read_text(rest, input, value);
    }
    *value = strtod(rest, &after);
#else
    (void)input;
    *value = strtof(rest, &after);
#endif
    return after;
}

/* Learn from one line; a line that is no sample is passed over. */
static void take(const char *line)
{
    paofed_value numbers[PAOFED_INPUTS + 1];
    const char *rest = line;
    bool whole = true;
    uint16_t i;

    for (i = 0u; whole && (i <= PAOFED_INPUTS); i++) {
        const char *after;

        rest += strspn(rest, " \t,");
        after = read_value(rest, i, &numbers[i]);
        whole = after != rest;
        rest = after;
    }
    if (!whole || (rest[strspn(rest, " \t\r")] != '\0')) {
        (void)fprintf(stderr, "posix: passed over: expected %d numbers or texts\n",
                      PAOFED_INPUTS + 1);
        return;
    }
    (void)printf("%.9g\n", (double)paofed_predict(&device, numbers));
    (void)fflush(stdout);
    (void)paofed_learn(&device, numbers, numbers[PAOFED_INPUTS]);
}

/* Read the next line, if there is one by now. Returns false where the samples have ended. */
static bool next_line(int file, char *line, bool *found)
{
    static char buffer[LONGEST_LINE];
    static size_t held;
    static bool too_long;
    struct pollfd ready = {.fd = file, .events = POLLIN, .revents = 0};
    char *newline = memchr(buffer, '\n', held);

    *found = newline != NULL;
    if (*found) {
        const size_t length = (size_t)(newline - buffer) + 1u;

        (void)memcpy(line, buffer, length);
        line[length - 1u] = '\0';
        held -= length;
        (void)memmove(buffer, buffer + length, held);
        if (too_long) { /* this newline ends the line that was too long */
            (void)strcpy(line, "too long");
            too_long = false;
        }
        return true;
    }
    if (held == sizeof buffer) { /* the line is too long for a sample */
        held = 0u;
        too_long = true;
    }
    if (poll(&ready, 1, 0) > 0) {
        const ssize_t got = read(file, buffer + held, sizeof buffer - held);

        if (got > 0) {
            held += (size_t)got;
        } else if ((got == 0) && (held > 0u)) { /* the last line may lack a newline */
            buffer[held] = '\n';
            held++;
        } else {
            return false;
        }
    }
    return true;
}

/* Read the first line of a file; everybody on this machine can read a program's arguments. */
static bool read_secret(const char *name, char *secret, size_t size)
{
    FILE *file = fopen(name, "r");
    bool found;

    if (file == NULL) {
        return false;
    }
    found = fgets(secret, (int)size, file) != NULL;
    (void)fclose(file);
    if (found) {
        secret[strcspn(secret, "\r\n")] = '\0';
    }
    return found;
}

static int failed(const char *what, const char *why)
{
    (void)fprintf(stderr, "posix: %s: %s\n", what, why);
    return 1;
}

/* Join, learn, talk and save until the samples have ended, or until the program is told to end. */
static void live(int file, uint32_t interval, uint32_t save_every)
{
    char line[LONGEST_LINE];
    uint32_t learned = milliseconds(NULL);
    uint32_t saved = learned;
    bool more = true;
    bool found;

    /* The fleet's model will replace what the device learns alone: wait for it a few seconds. */
    while (!ended && (device.kept.joined == 0u) && (milliseconds(NULL) - learned < LINGER)) {
        (void)contact();
        talk(10);
    }
    learned = milliseconds(NULL) - interval;
    while (!ended && more) {
        found = false;
        if (milliseconds(NULL) - learned >= interval) {
            more = next_line(file, line, &found);
            if (found) {
                learned = milliseconds(NULL);
                take(line);
                (void)contact();
            }
        }
        talk(found ? 0 : 10);
        if (milliseconds(NULL) - saved >= save_every) {
            saved = milliseconds(NULL);
            save();
        }
    }
    learned = milliseconds(NULL);
    while (!ended && (milliseconds(NULL) - learned < LINGER) && contact()) {
        talk(10);
    }
    save();
}

int main(int count, char **words)
{
    const char *host = NULL, *authority = NULL, *certificate = NULL, *key = NULL;
    const char *user = NULL, *secret = NULL, *topic = NULL, *samples = NULL;
    static char password[LONGEST_NAME];
    const char *last_slash;
    char *rest;
    uint32_t interval = 0u, save_every = 60000u, number;
    int broker_port = 1883, file = STDIN_FILENO, option, code;

    while ((option = getopt(count, words, "h:p:t:s:a:c:k:u:w:f:i:v:")) != -1) {
        switch (option) {
        case 'h': host = optarg; break;
        case 'p': broker_port = atoi(optarg); break;
        case 't': topic = optarg; break;
        case 's': state = optarg; break;
        case 'a': authority = optarg; break;
        case 'c': certificate = optarg; break;
        case 'k': key = optarg; break;
        case 'u': user = optarg; break;
        case 'w': secret = optarg; break;
        case 'f': samples = optarg; break;
        case 'i': interval = (uint32_t)strtoul(optarg, NULL, 10); break;
        case 'v': save_every = (uint32_t)strtoul(optarg, NULL, 10); break;
        default: (void)fputs(USAGE, stderr); return 2;
        }
    }
    last_slash = (topic == NULL) ? NULL : strrchr(topic, '/');
    if ((host == NULL) || (last_slash == NULL) || (state == NULL)) {
        (void)fputs(USAGE, stderr);
        return 2;
    }
    number = (uint32_t)strtoul(last_slash + 1, &rest, 10);
    if ((rest == last_slash + 1) || (*rest != '\0')) {
        return failed(topic, "expected NAME/k, where k is the device's number");
    }
    if ((strlen(topic) > LONGEST_NAME) || (strlen(state) > LONGEST_NAME)) {
        return failed("-t or -s", "the name is too long");
    }
    (void)snprintf(up, sizeof up, "%s/u", topic);
    (void)snprintf(down, sizeof down, "%s/d", topic);
    (void)snprintf(agreed, sizeof agreed, "%.*s/c2", (int)(last_slash - topic), topic);
    if (samples != NULL) {
        file = open(samples, O_RDONLY);
        if (file < 0) {
            return failed(samples, strerror(errno));
        }
    }
    (void)signal(SIGTERM, end);
    (void)signal(SIGINT, end);
    (void)signal(SIGPIPE, SIG_IGN); /* libmosquitto reports a connection that has ended */
    srand((unsigned)time(NULL) ^ (unsigned)getpid());
    (void)mosquitto_lib_init();
    broker = mosquitto_new(NULL, true, NULL);
    if (broker == NULL) {
        return failed("libmosquitto", strerror(errno));
    }
    (void)mosquitto_int_option(broker, MOSQ_OPT_TCP_NODELAY, 1);
    mosquitto_connect_callback_set(broker, on_connect);
    mosquitto_message_callback_set(broker, on_message);
    if ((secret != NULL) && !read_secret(secret, password, sizeof password)) {
        return failed(secret, "expected a file whose first line is the password");
    }
    if (user != NULL) {
        (void)mosquitto_username_pw_set(broker, user, (secret != NULL) ? password : NULL);
    }
    if (authority != NULL) {
        code = mosquitto_tls_set(broker, authority, NULL, certificate, key, NULL);
        if (code == MOSQ_ERR_SUCCESS) {
            code = mosquitto_tls_opts_set(broker, 1, "tlsv1.3", NULL);
        }
        if (code != MOSQ_ERR_SUCCESS) {
            return failed("certificates", mosquitto_strerror(code));
        }
    }
    if (!paofed_begin(&device, &paofed_fleet, &port, number)) {
        (void)fputs("posix: nothing of this device was saved; it joins the fleet\n", stderr);
    }
    if (!paofed_has_the_map(&device, paofed_probes)) {
        return failed("the map", "it is not the fleet's: write the header anew");
    }
    code = mosquitto_connect(broker, host, broker_port, KEEP_ALIVE);
    if ((code == MOSQ_ERR_ERRNO) || (code == MOSQ_ERR_EAI)) {
        not_reached(reason(code));
    } else if (code != MOSQ_ERR_SUCCESS) {
        return failed(host, mosquitto_strerror(code));
    }
    live(file, interval, save_every);
    (void)mosquitto_disconnect(broker);
    mosquitto_destroy(broker);
    (void)mosquitto_lib_cleanup();
    return 0;
}
