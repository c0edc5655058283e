#include <openssl/asn1.h>
#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/cms.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/objects.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <openssl/sha.h>
#include <openssl/x509.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>

/// sk_X509_new_null, sk_X509_push, sk_X509_num, sk_X509_value and sk_X509_free are macros that cast, which Swift does
/// not import.
static inline STACK_OF(X509) *bridge_certificates_new(void) { return sk_X509_new_null(); }
static inline int bridge_certificates_push(STACK_OF(X509) *stack, X509 *certificate) {
    return sk_X509_push(stack, certificate);
}
static inline int bridge_certificates_count(STACK_OF(X509) *stack) { return sk_X509_num(stack); }
static inline X509 *bridge_certificates_at(STACK_OF(X509) *stack, int index) { return sk_X509_value(stack, index); }
/// Frees the stack only; the certificates in it stay their owner's.
static inline void bridge_certificates_free(STACK_OF(X509) *stack) { sk_X509_free(stack); }

/// BIO_get_mem_data is a macro over the variadic-like BIO_ctrl.
static inline long bridge_bio_bytes(BIO *bio, const char **bytes) { return BIO_get_mem_data(bio, bytes); }

/// EVP_PKEY_PUBLIC_KEY is a macro over macros, which Swift does not import.
static inline int bridge_public_key_selection(void) { return EVP_PKEY_PUBLIC_KEY; }
