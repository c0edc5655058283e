import AppStoreClients

extension ProxyConfiguration {
    /// URLs of Apple's verifyReceipt endpoints, or of a simulator.
    package struct VerifyReceiptURLs: Sendable, Hashable {
        /// Called first on the automatic route. Apple answers 21007 for sandbox receipts.
        package var production = VerifyReceiptEndpoints.productionDefault
        /// Called after 21007, and for requests to the sandbox endpoint.
        package var sandbox = VerifyReceiptEndpoints.sandboxDefault

        package init() {}
    }

    /// Base URLs of the App Store Server API, or of a simulator.
    package struct ServerAPIURLs: Sendable, Hashable {
        package var production = ServerAPIHosts.productionDefault
        package var sandbox = ServerAPIHosts.sandboxDefault

        package init() {}
    }

    /// Limits of the archive of Apple's last good responses.
    package struct LastGood: Sendable, Hashable {
        /// Days since Apple last gave the response. 0 disables the archive.
        package var days: Int64 = 30
        /// Total size of all archived responses, in bytes.
        package var bytes = 512 << 20

        package init() {}
    }
}
