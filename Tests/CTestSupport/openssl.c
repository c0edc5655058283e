#include "CTestSupport.h"
#include <openssl/crypto.h>

// Before main, so that no test and no library can use OpenSSL earlier.
__attribute__((constructor)) static void keep_openssl(void) { OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, NULL); }
