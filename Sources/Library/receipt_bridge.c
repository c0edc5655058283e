#define _GNU_SOURCE
#include "receipt_bridge.h"

#include <math.h>
#include <openssl/crypto.h>
#include <pthread.h>
#include <stdlib.h>

#define EXPORTED __attribute__((visibility("default")))

/* In Exports.swift. */
extern char *receipt_bridge_decode_value(const void *bytes, size_t length, const char *options);
extern char *receipt_bridge_decode_values(const void *const *values, const size_t *lengths, const char *const *options,
                                          size_t count);

/* A call is a reader, and a fork the writer. So no thread is inside Swift or OpenSSL when the process is copied, and
 * the child finds no lock that nobody will release. A waiting fork goes before new calls. */
static pthread_rwlock_t calls = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;

static void before_fork(void) { pthread_rwlock_wrlock(&calls); }

static void after_fork_in_parent(void) { pthread_rwlock_unlock(&calls); }

/* The lock belongs to a thread of the parent, so it cannot be released. The child has no other thread. */
static void after_fork_in_child(void) {
    calls = (pthread_rwlock_t)PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
}

/* OpenSSL, of which this library has its own copy, reads no file of the system. It keeps its memory at the end of the
 * process, when other threads may still be inside a call. */
__attribute__((constructor)) static void set_up(void) {
    OPENSSL_init_crypto(OPENSSL_INIT_NO_LOAD_CONFIG | OPENSSL_INIT_NO_ATEXIT, NULL);
    pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

EXPORTED char *receipt_bridge_decode(const void *bytes, size_t length, const char *options) {
    pthread_rwlock_rdlock(&calls);
    char *json = receipt_bridge_decode_value(bytes, length, options);
    pthread_rwlock_unlock(&calls);
    return json;
}

EXPORTED char *receipt_bridge_decode_all(const void *const *values, const size_t *lengths, const char *const *options,
                                         size_t count) {
    pthread_rwlock_rdlock(&calls);
    char *json = receipt_bridge_decode_values(values, lengths, options, count);
    pthread_rwlock_unlock(&calls);
    return json;
}

EXPORTED void receipt_bridge_free(char *json) { free(json); }

EXPORTED const char *receipt_bridge_version(void) { return RECEIPT_BRIDGE_VERSION; }

/* Swift's runtime refers to it. That of glibc would be the only function that needs glibc 2.35 instead of 2.34. */
float hypotf(float x, float y) { return (float)sqrt((double)x * x + (double)y * y); }
