import ReceiptBridgeCOpenSSL

/// OpenSSL's state that belongs to the process.
package enum OpenSSLProcess {
    /// Initializes OpenSSL so that it keeps its memory until the process has ended. Call this before any other use of
    /// OpenSSL, also before libcurl's and libpq's.
    ///
    /// By default OpenSSL frees its locks and tables in an `atexit` handler. A process ends while other threads run: a
    /// command that reports a mistake in the configuration ended with SIGSEGV in one of 300 runs, because libcurl's
    /// thread was in `curl_global_init` at that time. Throws `unavailable` if OpenSSL cannot be initialized.
    package static func initialize() throws(CryptographyError) {
        guard OPENSSL_init_crypto(UInt64(OPENSSL_INIT_NO_ATEXIT), nil) == 1 else {
            throw .openSSL(.unavailable, "OpenSSL cannot be initialized")
        }
    }
}
