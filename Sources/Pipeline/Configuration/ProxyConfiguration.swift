package import AppStore
package import Comparison
package import Ledger
package import ListenerTLS
package import Rendering
package import StoreTypes

/// Everything that can be configured, resolved: secrets read, paths absolute, defaults filled in.
///
/// ``ConfigurationFile`` and ``ConfigurationEnvironment`` make one; `serve` without any configuration runs on `ProxyConfiguration()`.
package struct ProxyConfiguration: Sendable {
    package struct Address: Sendable, Hashable, CustomStringConvertible {
        package var host: String
        package var port: Int

        package init(host: String, port: Int) {
            self.host = host
            self.port = port
        }

        /// `HOST:PORT`, IPv6 as `[::1]:8080`; nil for anything else.
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

        /// `localhost`, 127.0.0.0/8 and ::1; a name that only begins with `127.` is none of them.
        package var isLoopback: Bool {
            let name = host.lowercased()
            if name == "localhost" || name == "::1" { return true }
            let parts = name.split(separator: ".", omittingEmptySubsequences: false)
            return parts.count == 4 && parts[0] == "127" && parts.allSatisfy { UInt8($0) != nil }
        }
    }

    package enum UnknownApps: String, Sendable, CaseIterable {
        /// Forwarded, without any configured secret.
        case pass
        /// 21003.
        case refuse
    }

    /// URLs of Apple's verifyReceipt, or of a stand-in.
    package struct VerifyReceiptURLs: Sendable, Hashable {
        package var production = "https://buy.itunes.apple.com/verifyReceipt"
        package var sandbox = "https://sandbox.itunes.apple.com/verifyReceipt"

        package init() {}
    }

    /// Base URLs of the App Store Server API, or of a stand-in.
    package struct ServerAPIURLs: Sendable, Hashable {
        package var production = ServerAPIHosts.productionDefault
        package var sandbox = ServerAPIHosts.sandboxDefault

        package init() {}
    }

    /// How much is kept of Apple's last good answers.
    package struct LastGood: Sendable, Hashable {
        /// Since Apple said so last; 0 keeps none.
        package var days: Int64 = 30
        /// Of all of them.
        package var bytes = 512 << 20

        package init() {}
    }

    package var listen = Address(host: "127.0.0.1", port: 8080)
    package var operationsListen = Address(host: "127.0.0.1", port: 8081)
    /// Named by the configuration: then it must be free.
    package var operationsListenIsExplicit = false
    /// Of the public listener; nil where it speaks no TLS.
    package var tls: ListenerCertificate?
    /// Between saying that it is about to end and ending; 5 minutes at most.
    package var drainTime = Duration.zero
    package var usesTolerantProfile = false
    /// DER of test roots; Apple's are built in.
    package var trustedRoots: [[UInt8]] = []
    /// DER of authorities that are newer than this program.
    package var intermediates: [[UInt8]] = []
    package var verifyReceipt = VerifyReceiptURLs()
    package var serverAPI = ServerAPIURLs()
    /// Whether the configuration says where the App Store Server API is.
    package var namesServerAPI = false
    /// Proxy for upstream requests; nil leaves it to HTTPS_PROXY.
    package var upstreamProxy: String?
    /// Stands in for the secret of every configured app that has none of its own.
    package var sharedSecret: SharedSecret?
    package var unknownApps = UnknownApps.pass
    /// From a request to its answer, whatever the App Store does.
    package var deadline = RequestDeadline.defaultLimit
    /// The folder of the tables that answers are written by; nil for those in the program.
    package internal(set) var mappings: String?
    package internal(set) var tables = FieldTables.bundled
    /// Any of them opens `/v1/*` on the public listener; without one it is closed there.
    package var tokens: [Redacted<String>] = []
    package var limits = Limits()
    /// Whose word counts on who a client is.
    package var trustedProxies: [AddressRange] = []
    /// The request header in which the caller names its user; nil where none does.
    package var userHeader: String?
    package var apps: [AppConfiguration] = []
    /// The SQLite file that things are remembered in; nil remembers nothing over a restart.
    package var storePath: String?
    /// How long things stay there.
    package var retention = Retention()
    /// A file that holds a secret, and the key that names it.
    package struct SecretFile: Sendable, Hashable {
        package let key: String
        package let path: String
    }

    /// Whatever was read that nobody else should be able to read.
    package var secretFiles: [SecretFile] = []
    /// Given again where Apple has no answer; in the store.
    package var lastGood = LastGood()
    /// Names of the environment that begin like ours and belong to no key.
    package var unused: [String] = []

    package init() {}
}

/// How the receipts of one app are answered.
package struct AppConfiguration: Sendable {
    package enum ClientPassword: String, Sendable, CaseIterable {
        /// A configured secret stands in for a missing password.
        case optional
        /// 21004 without one, for receipts with auto-renewables.
        case required
    }

    package enum SandboxPolicy: String, Sendable, CaseIterable {
        /// App Review needs it.
        case allow
        /// 21003.
        case deny
    }

    /// What is done where a purchase is presented by another user than before.
    package enum Replay: String, Sendable, CaseIterable {
        case off
        /// Counted and logged.
        case report
        /// 21003 besides.
        case refuse
    }

    package enum StaleSubscription: String, Sendable, CaseIterable {
        /// 21005 with `is_retryable` where only a receipt is left that may have been renewed since.
        case retry
        /// The receipt's own, possibly old, answer.
        case answer
    }

    package enum UnknownTransaction: String, Sendable, CaseIterable {
        /// The receipt's own answer, unless it may be stale.
        case receipt
        /// 21010, not to be asked again.
        case accountNotFound
    }

    /// Nil only for what names no app at all.
    package var bundleId: BundleIdentifier?
    package var appAppleId: Int64?
    package var sharedSecret: SharedSecret?
    package var acceptedSecrets: [SharedSecret] = []
    package var clientPassword = ClientPassword.optional
    package var sandbox = SandboxPolicy.allow
    /// Whose sandbox receipts are answered; nil answers those that ``sandbox`` says.
    package var testers: SandboxAllowlist?
    package var replay = Replay.report
    package var answer: [AnswerSource] = [.apple, .receipt]
    package var staleSubscription = StaleSubscription.retry
    /// What is said of an authentic receipt whose transactions the Server API does not know, where Apple's verifyReceipt
    /// is not asked either.
    package var unknownTransaction = UnknownTransaction.receipt
    /// How long the Server API's word on a customer is good for; 0 asks every time, 3600 at most.
    package var cacheSeconds: Int64 = 60
    /// How long what is stored of a customer is as good as asking, in seconds since everything was asked for; 30 days at
    /// most. What is heard in notifications in the meantime is in it.
    package var storedMaxAge: Int64 = 86_400

    /// Nil where the app's customers cannot be asked about.
    package var serverAPI: ServerAPIAccount?
    package var latestReceiptInfoOrder = AnswerOptions.Order.ascending
    /// The source that is asked too, off the way of the answer, and compared with it; nil for none.
    package var shadow: AnswerSource?
    /// The part of the answers that are compared, 0 to 1.
    package var shadowSampling = 1.0
    /// What differences of a rule are to this app, in place of what they usually are.
    package var comparisonRules: [String: ComparisonContext.Override] = [:]
    /// Whom the app's notifications are forwarded to.
    package var forward: [ForwardTarget] = []

    package init(bundleId: BundleIdentifier?) {
        self.bundleId = bundleId
    }
}

/// Where an answer comes from; in `answer:` each is the fallback of the one before.
package enum AnswerSource: String, Sendable, Hashable, CaseIterable {
    /// Apple's verifyReceipt, byte for byte.
    case apple
    /// The App Store Server API, for an authenticated receipt.
    case api
    /// What is remembered of the App Store Server API and of notifications, for an authenticated receipt.
    case stored
    /// The authenticated receipt alone.
    case receipt

    /// Whether somebody outside is asked.
    var asks: Bool { self == .apple || self == .api }
}
