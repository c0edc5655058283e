import AppStorePayloads
import AppStoreClients
import ListenerTLS
import AppStoreTypes

/// The names of the keys that differ between two configurations. The log shows them after a reload, so values, which
/// may be secrets, are not included.
package struct ConfigurationDiff: Sendable, Hashable {
    /// Keys whose new values apply immediately.
    package let applied: [String]
    /// Keys whose new values apply only after a restart. The old values stay in effect until then.
    package let needRestart: [String]

    /// The name of a key, and the value to compare.
    private typealias Key<Subject> = (name: String, value: (Subject) -> AnyHashable?)

    /// Compares two configurations.
    package init(from old: ProxyConfiguration, to new: ProxyConfiguration) {
        needRestart = Self.names(Self.fixedKeys, old, new)
        applied = Self.names(Self.keys, old, new.keepingFixedKeys(of: old)) + Self.apps(old, new)
    }

    /// Keys that are fixed when the process starts, because sockets, files and threads that depend on them are open.
    private static var fixedKeys: [Key<ProxyConfiguration>] {
        [
            ("listen", { $0.listen }),
            ("operations.listen", { $0.operationsListen }),
            ("tls", { $0.tls != nil }),
            ("store", { $0.storePath }),
            ("upstream.proxy", { $0.upstreamProxy }),
            ("limits.connections", { $0.limits.connections }),
        ]
    }

    /// Keys that a reload applies.
    private static var keys: [Key<ProxyConfiguration>] {
        [
            ("tls.certificate", { $0.tls?.chain }),
            ("profile", { $0.usesTolerantProfile }),
            ("trust.roots", { $0.trustedRoots }),
            ("trust.intermediates", { $0.intermediates }),
            ("upstream.verifyReceipt", { $0.verifyReceipt }),
            ("upstream.serverAPI", { $0.serverAPI }),
            ("sharedSecret", { $0.sharedSecret }),
            ("unknownApps", { $0.unknownApps }),
            ("deadlineSeconds", { $0.deadline }),
            ("operations.drainSeconds", { $0.drainTime }),
            ("lastGood", { $0.lastGood }),
            ("mappings", { $0.mappings }),
            ("tokens", { $0.tokens }),
            ("limits.requestsPerMinute", { $0.limits.requestsPerMinute }),
            ("limits.connectionsPerClient", { $0.limits.connectionsPerClient }),
            ("limits.headSeconds", { $0.limits.headSeconds }),
            ("limits.requestSeconds", { $0.limits.requestSeconds }),
            ("trustedProxies", { $0.trustedProxies }),
            ("userHeader", { $0.userHeader }),
            ("retention", { $0.retention }),
        ]
    }

    /// Keys of one app; a reload applies all of them.
    private static var appKeys: [Key<AppConfiguration>] {
        [
            ("appAppleId", { $0.appAppleId }),
            ("sharedSecret", { $0.sharedSecret }),
            ("acceptedSecrets", { $0.acceptedSecrets }),
            ("clientPassword", { $0.clientPassword }),
            ("sandbox", { $0.sandbox }),
            ("sandbox.testers", { $0.testers }),
            ("replay", { $0.replay }),
            ("answer", { $0.answer }),
            ("staleSubscription", { $0.staleSubscription }),
            ("unknownTransaction", { $0.unknownTransaction }),
            ("cacheSeconds", { $0.cacheSeconds }),
            ("storedMaxAge", { $0.storedMaxAge }),
            ("serverAPI.issuerId", { $0.serverAPI?.issuerId }),
            ("serverAPI.keyId", { $0.serverAPI?.keyId }),
            ("serverAPI.privateKey", { $0.serverAPI?.privateKey }),
            ("latestReceiptInfoOrder", { $0.latestReceiptInfoOrder }),
            ("shadow", { $0.shadow }),
            ("shadowSampling", { $0.shadowSampling }),
            ("comparisonRules", { $0.comparisonRules }),
            ("forward", { $0.forward }),
        ]
    }

    private static func names<Subject>(_ keys: [Key<Subject>], _ old: Subject, _ new: Subject) -> [String] {
        keys.filter { $0.value(old) != $0.value(new) }.map(\.name)
    }

    /// Returns the changed keys of all apps, for example `apps[com.example.app].sandbox`. An app that was added or
    /// removed has one entry, without its keys.
    private static func apps(_ old: ProxyConfiguration, _ new: ProxyConfiguration) -> [String] {
        let before = byName(old)
        let after = byName(new)
        return Set(before.keys).union(after.keys).sorted { $0.rawValue < $1.rawValue }.flatMap { bundleId -> [String] in
            switch (before[bundleId], after[bundleId]) {
            case (let old?, let new?): names(appKeys, old, new).map { "apps[\(bundleId)].\($0)" }
            case (nil, _): ["apps[\(bundleId)]: added"]
            case (_, nil): ["apps[\(bundleId)]: removed"]
            }
        }
    }

    private static func byName(_ settings: ProxyConfiguration) -> [BundleIdentifier: AppConfiguration] {
        Dictionary(
            settings.apps.compactMap { app in app.bundleId.map { ($0, app) } }, uniquingKeysWith: { _, last in last })
    }
}

extension ProxyConfiguration {
    /// Returns this configuration with the keys that need a restart as they are in `old`.
    package func keepingFixedKeys(of old: ProxyConfiguration) -> ProxyConfiguration {
        var settings = self
        settings.listen = old.listen
        settings.operationsListen = old.operationsListen
        settings.operationsListenIsExplicit = old.operationsListenIsExplicit
        if (tls == nil) != (old.tls == nil) { settings.tls = old.tls }
        settings.storePath = old.storePath
        settings.upstreamProxy = old.upstreamProxy
        settings.limits.connections = old.limits.connections
        return settings
    }
}
