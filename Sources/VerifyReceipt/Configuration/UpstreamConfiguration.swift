import AppStoreClients

extension ProxyConfiguration {
    /// URLs of Apple's verifyReceipt endpoints, or of a simulator.
    package struct VerifyReceiptURLs: Sendable, Hashable {
        /// Called first on the automatic route. Apple answers 21007 for sandbox receipts.
        package var production = "https://buy.itunes.apple.com/verifyReceipt"
        /// Called after 21007, and for requests to the sandbox endpoint.
        package var sandbox = "https://sandbox.itunes.apple.com/verifyReceipt"

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

extension ConfigurationFile {
    /// Reads `upstream`.
    static func readUpstream(_ root: ConfigurationNode, into settings: inout ProxyConfiguration) {
        guard let upstream = root.child("upstream") else { return }
        if let urls = upstream.child("verifyReceipt") {
            if let url = urls.text("production", expecting: "a URL") { settings.verifyReceipt.production = url }
            if let url = urls.text("sandbox", expecting: "a URL") { settings.verifyReceipt.sandbox = url }
            urls.finish()
        }
        settings.upstreamProxy = upstream.text("proxy", expecting: ConfigurationValidation.proxies)
        if let urls = upstream.child("serverAPI") {
            if let url = urls.text("production", expecting: "a URL") { settings.serverAPI.production = url }
            if let url = urls.text("sandbox", expecting: "a URL") { settings.serverAPI.sandbox = url }
            settings.namesServerAPI = true
            urls.finish()
        }
        upstream.finish()
    }

    /// Reads `deadlineSeconds`.
    static func readDeadline(_ root: ConfigurationNode, into settings: inout ProxyConfiguration) {
        if let seconds = root.integer("deadlineSeconds", in: 1...30) { settings.deadline = .seconds(seconds) }
    }

    /// Reads `lastGood: {days: 30, megabytes: 512}`.
    static func readLastGood(_ root: ConfigurationNode, into settings: inout ProxyConfiguration) {
        guard let lastGood = root.child("lastGood") else { return }
        if let days = lastGood.integer("days", in: 0...365) { settings.lastGood.days = days }
        if let megabytes = lastGood.integer("megabytes", in: 1...1_000_000) {
            settings.lastGood.bytes = Int(megabytes) << 20
        }
        lastGood.finish()
    }
}
