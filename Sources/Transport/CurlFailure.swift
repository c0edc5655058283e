import ReceiptBridgeCCurl

/// Maps libcurl's result codes to error codes. A result code that is not in the table is a `protocolError`.
enum CurlFailure {
    private static let codes: [UInt32: TransportError.Code] = [
        CURLE_URL_MALFORMAT.rawValue: .invalidURL,
        CURLE_COULDNT_RESOLVE_PROXY.rawValue: .nameNotResolved,
        CURLE_COULDNT_RESOLVE_HOST.rawValue: .nameNotResolved,
        CURLE_COULDNT_CONNECT.rawValue: .connectFailed,
        CURLE_INTERFACE_FAILED.rawValue: .connectFailed,
        CURLE_PROXY.rawValue: .connectFailed,
        CURLE_OPERATION_TIMEDOUT.rawValue: .timedOut,
        CURLE_SSL_CONNECT_ERROR.rawValue: .tlsFailed,
        CURLE_SSL_ENGINE_NOTFOUND.rawValue: .tlsFailed,
        CURLE_SSL_CERTPROBLEM.rawValue: .tlsFailed,
        CURLE_SSL_CIPHER.rawValue: .tlsFailed,
        CURLE_PEER_FAILED_VERIFICATION.rawValue: .tlsFailed,
        CURLE_SSL_CACERT_BADFILE.rawValue: .tlsFailed,
        CURLE_SSL_SHUTDOWN_FAILED.rawValue: .tlsFailed,
        CURLE_SSL_ISSUER_ERROR.rawValue: .tlsFailed,
        CURLE_SSL_INVALIDCERTSTATUS.rawValue: .tlsFailed,
        CURLE_SEND_ERROR.rawValue: .connectionReset,
        CURLE_RECV_ERROR.rawValue: .connectionReset,
        CURLE_HTTP2.rawValue: .connectionReset,
        CURLE_HTTP2_STREAM.rawValue: .connectionReset,
        CURLE_GOT_NOTHING.rawValue: .emptyReply,
        CURLE_PARTIAL_FILE.rawValue: .truncated,
        CURLE_FILESIZE_EXCEEDED.rawValue: .responseTooLarge,
        CURLE_OUT_OF_MEMORY.rawValue: .internalFault,
        CURLE_FAILED_INIT.rawValue: .internalFault,
        CURLE_ABORTED_BY_CALLBACK.rawValue: .internalFault,
    ]

    /// Returns libcurl's text, or `nil` if it quotes the proxy's URL, which can contain a password.
    private static func quotable(_ text: String?) -> String? {
        guard let text, !text.hasPrefix("Unsupported proxy") else { return nil }
        return text
    }

    /// Creates the error for a result code, with libcurl's description of the failure if it may be quoted.
    static func error(_ result: CURLcode, at host: String, text: String?) -> TransportError {
        let general = curl_easy_strerror(result).map { String(cString: $0) } ?? "libcurl error \(result.rawValue)"
        return TransportError(codes[result.rawValue] ?? .protocolError, at: host, quotable(text) ?? general)
    }
}
