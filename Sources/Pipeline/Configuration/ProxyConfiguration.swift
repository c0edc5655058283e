package import AppStore
package import Comparison
package import Ledger
package import ListenerTLS
package import Rendering
package import StoreTypes

/// The resolved configuration: secrets are read, paths are absolute, defaults are filled in.
///
/// ``ConfigurationFile`` and ``ConfigurationEnvironment`` create it. Without any configuration, `serve` runs on
/// `ProxyConfiguration()`.
package struct ProxyConfiguration: Sendable {
    /// The address of a listener, `HOST:PORT`.
    package struct Address: Sendable, Hashable, CustomStringConvertible {
        package var host: String
        package var port: Int

        package init(host: String, port: Int) {
            self.host = host
            self.port = port
        }

        /// Parses `HOST:PORT`; an IPv6 address is in brackets, for example `[::1]:8080`. Returns `nil` for any other
        /// text.
        package init?(_ text: String) {
            guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]) else {
                return nil
            }
            var host = String(text[..<colon])
            if host.hasPrefix("["), host.hasSuffix("]") {
                host = String(host.dropFirst().dropLast())
            } else if host.contains(":") {
                return nil
            }
            guard !host.isEmpty else { return nil }
            self.init(host: host, port: Int(port))
        }

        package var description: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }

        /// Whether the address is `localhost`, in 127.0.0.0/8, or ::1. A host name that only begins with `127.`, for
        /// example `127.example.com`, is not.
        package var isLoopback: Bool {
            let name = host.lowercased()
            if name == "localhost" || name == "::1" { return true }
            let parts = name.split(separator: ".", omittingEmptySubsequences: false)
            return parts.count == 4 && parts[0] == "127" && parts.allSatisfy { UInt8($0) != nil }
        }
    }

    /// Handling of receipts of apps that are not configured.
    package enum UnknownApps: String, Sendable, CaseIterable {
        /// Forwarded to Apple, without any configured secret.
        case pass
        /// Refused with 21003.
        case refuse
    }

    /// URLs of Apple's verifyReceipt endpoints, or of a simulator.
    package struct VerifyReceiptURLs: Sendable, Hashable {
        package var production = "https://buy.itunes.apple.com/verifyReceipt"
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

    /// Address of the public listener.
    package var listen = Address(host: "127.0.0.1", port: 8080)
    /// Address of the operations listener.
    package var operationsListen = Address(host: "127.0.0.1", port: 8081)
    /// Whether the configuration names the address of the operations listener. If it does, an address that
    /// is already in use is an error; otherwise, the operations listener is disabled.
    package var operationsListenIsExplicit = false
    /// Certificate of the public listener; `nil` if it does not use TLS.
    package var tls: ListenerCertificate?
    /// Time from the start of a graceful shutdown, when `/readyz` begins to fail, until the listeners close; 5
    /// minutes at most.
    package var drainTime = Duration.zero
    /// Whether receipts are repaired before decoding (`profile: tolerant`).
    package var usesTolerantProfile = false
    /// Test roots (DER), in addition to Apple's, which are built in.
    package var trustedRoots: [[UInt8]] = []
    /// Intermediate certificates (DER) of authorities that are newer than this program.
    package var intermediates: [[UInt8]] = []
    package var verifyReceipt = VerifyReceiptURLs()
    package var serverAPI = ServerAPIURLs()
    /// Whether the configuration sets the URLs of the App Store Server API.
    package var namesServerAPI = false
    /// URL of the proxy for upstream requests; `nil` uses `HTTPS_PROXY`.
    package var upstreamProxy: String?
    /// The account's shared secret, for every configured app without one of its own.
    package var sharedSecret: SharedSecret?
    package var unknownApps = UnknownApps.pass
    /// Timeout from a request to its response, however slow the App Store is.
    package var deadline = RequestDeadline.defaultLimit
    /// The folder of the field tables; `nil` for the tables in the program.
    package internal(set) var mappings: String?
    package internal(set) var tables = FieldTables.bundled
    /// Bearer tokens for `/v1/*` on the public listener. If there are none, `/v1/*` is not available there.
    package var tokens: [Redacted<String>] = []
    package var limits = Limits()
    /// Proxies whose `X-Forwarded-For` header is trusted for the address of a client.
    package var trustedProxies: [AddressRange] = []
    /// The request header in which a caller names its user, for replay detection; `nil` if there is none.
    package var userHeader: String?
    package var apps: [AppConfiguration] = []
    /// Path of the SQLite store; `nil` if nothing is persisted across a restart.
    package var storePath: String?
    /// Retention periods of the data in the store.
    package var retention = Retention()
    /// A file with a secret, and the key that names it.
    package struct SecretFile: Sendable, Hashable {
        package let key: String
        package let path: String
    }

    /// Files with secrets that were read; other users of the machine should not be able to read them.
    package var secretFiles: [SecretFile] = []
    /// The archive of Apple's last good responses, which is in the store and is used if Apple is not available.
    package var lastGood = LastGood()
    /// Environment variables that begin with `RECEIPT_BRIDGE_` and belong to no key.
    package var unknownVariables: [String] = []

    package init() {}
}

/// The configuration of one app: how its receipts are answered, and where its notifications are forwarded.
package struct AppConfiguration: Sendable {
    /// Handling of requests without a password.
    package enum ClientPassword: String, Sendable, CaseIterable {
        /// The configured shared secret is used instead of a missing password.
        case optional
        /// 21004 if the password is missing and the receipt has auto-renewable subscriptions.
        case required
    }

    /// Handling of sandbox receipts.
    package enum SandboxPolicy: String, Sendable, CaseIterable {
        /// Answered. App Review needs this, because it tests production builds in the sandbox.
        case allow
        /// Refused with 21003.
        case deny
    }

    /// Handling of a purchase that another user presented before. Needs `userHeader`.
    package enum Replay: String, Sendable, CaseIterable {
        case off
        /// Counted and logged.
        case report
        /// Counted, logged and refused with 21003.
        case refuse
    }

    /// Handling of a receipt whose subscription has expired according to the receipt but may have been renewed since,
    /// if no other source is available.
    package enum StaleSubscription: String, Sendable, CaseIterable {
        /// 21005 with `is_retryable`.
        case retry
        /// The receipt's own response, which may be out of date.
        case answer
    }

    /// Handling of an authentic receipt whose transactions the Server API does not know (4040010).
    package enum UnknownTransaction: String, Sendable, CaseIterable {
        /// The receipt's own response, unless it may be out of date.
        case receipt
        /// 21010, which tells clients not to retry.
        case accountNotFound
    }

    /// `nil` only if the bundle id is missing or invalid.
    package var bundleId: BundleIdentifier?
    package var appAppleId: Int64?
    package var sharedSecret: SharedSecret?
    package var acceptedSecrets: [SharedSecret] = []
    package var clientPassword = ClientPassword.optional
    package var sandbox = SandboxPolicy.allow
    /// Sandbox receipts to answer; `nil` if ``sandbox`` applies to all of them.
    package var testers: SandboxAllowlist?
    package var replay = Replay.report
    /// Sources of the response, each the fallback of the one before.
    package var answer: [AnswerSource] = [.apple, .receipt]
    package var staleSubscription = StaleSubscription.retry
    /// Handling of transactions that the Server API does not know, if Apple's verifyReceipt is not one of the later
    /// sources.
    package var unknownTransaction = UnknownTransaction.receipt
    /// How long a customer's records from the Server API are cached, in seconds, at most 3600. 0 disables the cache.
    package var cacheSeconds: Int64 = 60
    /// How long a customer's stored records are used without a Server API call, in seconds since the last complete
    /// lookup; at most 30 days. Notifications that arrive in the meantime are merged into them.
    package var storedMaxAge: Int64 = 86_400

    /// Credentials for the App Store Server API; `nil` if it is not used for this app.
    package var serverAPI: ServerAPIAccount?
    package var latestReceiptInfoOrder = AnswerOptions.Order.ascending
    /// The source that is queried after the response is sent, to compare its result with the response; `nil` for
    /// none.
    package var shadow: AnswerSource?
    /// The fraction of responses that are compared, 0 to 1.
    package var shadowSampling = 1.0
    /// The class of difference for each comparison rule that this app overrides.
    package var comparisonRules: [String: ComparisonContext.Override] = [:]
    /// Targets to which the app's notifications are forwarded.
    package var forward: [ForwardTarget] = []

    package init(bundleId: BundleIdentifier?) {
        self.bundleId = bundleId
    }
}

/// A source of responses. In `answer:`, each one is the fallback of the one before.
package enum AnswerSource: String, Sendable, Hashable, CaseIterable {
    /// Apple's verifyReceipt; its response is returned byte for byte.
    case apple
    /// The App Store Server API, for authenticated receipts.
    case api
    /// Stored records from the App Store Server API and from notifications, for authenticated receipts.
    case stored
    /// The authenticated receipt alone.
    case receipt

    /// Whether the source needs a request to the App Store.
    var needsUpstream: Bool { self == .apple || self == .api }
}
