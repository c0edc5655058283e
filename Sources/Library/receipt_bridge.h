/* Decodes App Store receipts and signed data, and checks whether they are authentic: libreceipt_bridge.so.
 *
 *     char *json = receipt_bridge_decode(receipt, strlen(receipt), NULL);
 *     puts(json);
 *     receipt_bridge_free(json);
 *
 * All functions may be called by any number of threads. The library has no threads, opens no files and makes no
 * connections. A fork waits for the calls of other threads, so the child can call the functions too.
 */
#ifndef RECEIPT_BRIDGE_H
#define RECEIPT_BRIDGE_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Decodes one stored value: the base64 or the bytes of a receipt, a JWS, JSON or other text that contains one of them,
 * or transaction ids.
 *
 * bytes, length: the value, which need not end with a zero byte. NULL and 0 for a value that is missing.
 * options: NULL, or a JSON object that ends with a zero byte. Its members:
 *
 *     "certificates"    an array of certificates in the base64 of DER, which are trusted in addition to Apple's:
 *                       self-issued ones as roots, all others only as intermediates. Calls with the same ones share
 *                       what was verified.
 *     "purchases"       false: leaves "failure", "receipt", "purchases", "payload" and "nested" out.
 *     "transactionIds"  transaction ids beside the value, which are in "unverifiedIds".
 *
 * Returns a JSON object in UTF-8, which receipt_bridge_free() releases; NULL if there is no memory for it. Its members:
 *
 *     "outcome"         "decoded": authentic, with purchases; "noTransactions": authentic without purchases; "refused"
 *     "reason"          the code of the failure; null if it is authentic
 *     "failure"         null, or {"code", "place", "reason"}, without data of the value
 *     "kind"            "appReceipt", "transactionReceipt", "jws", "unknown"
 *     "verified"        true if the signature and the certificates are valid. Nothing else shows that it is authentic.
 *     "digest"          the SHA-256 of the decoded bytes, in hexadecimal
 *     "repairs"         the names of the repairs that were needed to read it
 *     "environment"     "Production", "Sandbox" …, also if it is not authentic
 *     "bundleId"        the app, also if it is not authentic
 *     "originalTransactionIds", "transactionIds"  also if it is not authentic
 *     "unverifiedIds"   ids that are not in the signed part
 *     "receipt"         the attributes of an authentic receipt, or null
 *     "purchases"       the purchases of an authentic receipt or JWS, with Apple's camelCase names; dates are
 *                       milliseconds since 1970
 *     "payload"         the payload of an authentic JWS, or null
 *     "nested"          the payloads of the JWS inside an authentic notification, by name
 *
 * If the options cannot be used, the only member is "error": {"code": "badOptions", "reason"}. */
char *receipt_bridge_decode(const void *bytes, size_t length, const char *options);

/* Decodes several values in one call, for languages whose calls are expensive.
 *
 * values, lengths: `count` values with their lengths, as for receipt_bridge_decode().
 * options: NULL, or the options of each value.
 *
 * Returns a JSON array of `count` results in the order of the values, which receipt_bridge_free() releases; NULL if there
 * is no memory for it. */
char *receipt_bridge_decode_all(const void *const *values, const size_t *lengths, const char *const *options,
                                size_t count);

/* Releases a result. NULL is allowed. */
void receipt_bridge_free(char *json);

/* Returns the version, for example "0.2.0". It must not be released. */
const char *receipt_bridge_version(void);

#ifdef __cplusplus
}
#endif

#endif
