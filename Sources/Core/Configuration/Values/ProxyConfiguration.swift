package import ReceiptBridgeBase
package import ReceiptBridgeResponses
package import ReceiptBridgeStorage

/// The resolved configuration: secrets are read, paths are absolute, defaults are filled in.
///
/// ``ConfigurationFile`` and ``ConfigurationEnvironment`` create it. Without any configuration, `serve` runs on
/// `ProxyConfiguration()`.
package struct ProxyConfiguration: Sendable {
    /// Handling of receipts of apps that are not configured.
    package enum UnknownApps: String, Sendable, CaseIterable {
        /// Forwarded to Apple, without any configured secret.
        case pass
        /// Refused with 21003.
        case refuse
    }

    /// The URLs of one of Apple's services, or of a simulator.
    package struct ServiceURLs: Sendable, Hashable {
        package var production: String
        package var sandbox: String
    }

    /// Limits of the archive of Apple's last good responses.
    package struct LastGood: Sendable, Hashable {
        /// Days since Apple last gave the response. 0 disables the archive.
        package var days: Int64 = 30
        /// Total size of all archived responses, in bytes.
        package var bytes = 512 << 20
    }

    /// A file with a secret, and the key that names it.
    package struct SecretFile: Sendable, Hashable {
        package let key: String
        package let path: String
    }

    /// An environment variable that no key reads, with a question about the one that may be meant, or nothing.
    package struct UnknownVariable: Sendable, Hashable {
        package let name: String
        package let question: String
    }

    package var listen = Address(host: "127.0.0.1", port: 8080)
    package var operationsListen = Address(host: "127.0.0.1", port: 8081)
    /// Whether the configuration names the address of the operations listener. If it does, an address that
    /// is already in use is an error; otherwise, the operations listener is disabled.
    package var operationsListenIsExplicit = false
    package var tls: TLSFiles?
    /// Time from the start of a graceful shutdown, when `/readyz` begins to fail, until the listeners close; 5
    /// minutes at most.
    package var drainTime = Duration.zero
    /// Whether receipts are repaired before decoding (`profile: tolerant`).
    package var usesTolerantProfile = false
    /// Test roots (DER), in addition to Apple's, which are built in.
    package var trustedRoots: [[UInt8]] = []
    /// Intermediate certificates (DER) that are newer than this program.
    package var intermediates: [[UInt8]] = []
    /// URLs for the source `apple`. Production is called first on the automatic route, and the sandbox after 21007.
    package var verifyReceipt = ServiceURLs(
        production: "https://buy.itunes.apple.com/verifyReceipt",
        sandbox: "https://sandbox.itunes.apple.com/verifyReceipt")
    /// Base URLs for the source `api`: Apple's hosts since May 2026. The previous ones, `api.storekit.itunes.apple.com`
    /// and `api.storekit-sandbox.itunes.apple.com`, still work.
    package var serverAPI = ServiceURLs(
        production: "https://api.storekit.apple.com", sandbox: "https://api.storekit-sandbox.apple.com")
    /// Whether the configuration sets the URLs of the App Store Server API.
    var namesServerAPI = false
    /// URL of the proxy for upstream requests; `nil` uses `HTTPS_PROXY`.
    package var upstreamProxy: String?
    /// Maximum number of exchanges with one host at the same time; `nil` for the number that the limit of file
    /// descriptors allows.
    package var upstreamConnections: Int64?
    /// The account's shared secret, for every configured app without one of its own.
    package var sharedSecret: SharedSecret?
    package var unknownApps = UnknownApps.pass
    /// Timeout from a request to its response, however slow the App Store is.
    package var deadline = defaultDeadline
    package var outageStatus = OutageStatus.standard
    /// The directory of the field tables; `nil` for the tables in the program.
    package internal(set) var mappings: String?
    package internal(set) var tables = FieldTables.bundled
    /// Bearer tokens for `/v1/*` on the public listener. If there are none, `/v1/*` is not available there.
    package var tokens: [Redacted<String>] = []
    package var limits = Limits()
    /// Proxies whose `X-Forwarded-For` header is trusted for the address of a client.
    package var trustedProxies: [AddressRange] = []
    /// The request header in which a caller names its user, for replay detection; `nil` if there is none.
    package var userHeader: String?
    /// The configured apps, in the order of the file. No two have the same bundle id.
    package var apps: [AppConfiguration] = []
    /// Where the store is; `nil` if nothing is persisted across a restart.
    package var store: StoreAddress?
    package var database = DatabaseConfiguration()
    package var instance: String?
    package var recordsEvents = true
    package var retention = Retention()
    package var reconcile: ReconcileConfiguration?
    /// Files with secrets that were read; other users of the machine should not be able to read them.
    package var secretFiles: [SecretFile] = []
    /// The archive of Apple's last good responses, which is in the store and is used if Apple is not available.
    package var lastGood = LastGood()
    /// Environment variables that begin with `RECEIPT_BRIDGE_` and belong to no key.
    package var unknownVariables: [UnknownVariable] = []

    /// The default of the configuration key `deadlineSeconds`, 9 s.
    package static let defaultDeadline = Duration.seconds(9)

    package init() {}
}

extension ProxyConfiguration {
    /// Whether no app is configured. A server answers nevertheless.
    package var hasNoApp: Bool { apps.allSatisfy { $0.bundleId == nil } }

    /// What the lack of an app means.
    package static let noAppSentence =
        "No app is configured: no shared secret is added to receipts, so a subscription without a password gets 21004"
}
