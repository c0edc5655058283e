import ReceiptBridgeBase
import ReceiptBridgeStorage

extension ProxyConfiguration: Configurable {
    package static var defaults: ProxyConfiguration { ProxyConfiguration() }

    package static var settings: [Setting<ProxyConfiguration>] {
        listeners + storage + database + reconciliation + verification + upstreams + answers + clients
    }

    private static var listeners: [Setting<ProxyConfiguration>] {
        [
            .row(
                "listen", "`HOST:PORT`, IPv6 as `[::]:8080`", default: "`\(defaults.listen)`", \.listen,
                "address of the public listener"
            ) { $0.address($1) }
            .needingRestart { $0.listen = $1.listen },
            .custom(
                "operations.listen", "`HOST:PORT`", default: "`\(defaults.operationsListen)`", \.operationsListen,
                """
                address of the operations listener: health, metrics, the status page, and `/v1/*` for this machine. If \
                it is not on loopback, it needs `tokens`. If the address is already in use, that is an error if \
                this key is set; otherwise the operations listener is disabled
                """
            ) { node, name, settings in
                guard let address = node.address(name) else { return }
                settings.operationsListen = address
                settings.operationsListenIsExplicit = true
            }.needingRestart {
                $0.operationsListen = $1.operationsListen
                $0.operationsListenIsExplicit = $1.operationsListenIsExplicit
            },
            .seconds(
                "operations.drainSeconds", \.drainTime, in: 0...300,
                """
                graceful shutdown: how long `/readyz` returns 503 while requests are still answered, before the \
                listeners close
                """),
        ]
    }

    private static var storage: [Setting<ProxyConfiguration>] {
        [
            .custom(
                "store", "`sqlite:PATH`, `postgresql://USER@HOST/DATABASE`, `none`",
                default: "`sqlite:receipt-bridge.sqlite` next to the file, without a file `none`", \.store,
                """
                the database for everything that survives a restart; several servers can share one of PostgreSQL \
                ([STORE](STORE.md#postgresql))
                """, read: ConfigurationFile.readStore
            ).needingRestart { $0.store = $1.store },
            .custom(
                "instance", "text", default: "host name and port of `listen`", \.instance,
                "the name of this server among those that share a store"
            ) { $2.instance = $0.text($1, expecting: "a name") }
            .needingRestart { $0.instance = $1.instance },
            .flag(
                "events", \.recordsEvents,
                """
                whether each change of a customer is also added to the table `events`, for `export events` and change \
                data capture ([EVENTS](EVENTS.md))
                """
            ).needingRestart { $0.recordsEvents = $1.recordsEvents },
            retention("notifications", \.retention.notifications, "notifications and their deliveries, since received"),
            retention("superseded", \.retention.superseded, "replaced versions of a transaction, since signed"),
            retention("customers", \.retention.customers, from: 30, "customers, since their last lookup and record"),
            retention("comparisons", \.retention.comparisons, "results of the shadow, compared customers of a rollout"),
            retention("forwardedDeliveries", \.retention.forwardedDeliveries, "completed deliveries"),
            retention("learntIdentifiers", \.retention.learntIdentifiers, "ids found for receipts without purchases"),
            retention("refunds", \.retention.refunds, "events of type `refund`"),
            retention("events", \.retention.events, "other events, and what is left of erased customers"),
        ]
    }

    private static var database: [Setting<ProxyConfiguration>] {
        [
            .custom(
                "database.password", "secret", default: "none", \.database.password,
                "the password for a store of PostgreSQL; a file is read again for each new connection"
            ) { $2.database.password = $0.secretSource($1, .text) }
            .needingRestart { $0.database.password = $1.database.password },
            .integer(
                "database.connections", \.database.connections, in: 1...100, .connections,
                "connections of this server to the database"
            ).needingRestart { $0.database.connections = $1.database.connections },
            .seconds(
                "database.statementSeconds", \.database.statementTimeout, in: 1...60,
                "timeout of one statement; longer ones fail, and the request is answered without the store"
            ).needingRestart { $0.database.statementTimeout = $1.database.statementTimeout },
            .flag(
                "database.preparedStatements", \.database.usesPreparedStatements,
                "`false` for pgbouncer before 1.21 in transaction mode, which cannot pass prepared statements on"
            ).needingRestart { $0.database.usesPreparedStatements = $1.database.usesPreparedStatements },
            .row(
                "database.library", "name or path", default: "`\(defaults.database.library)`", \.database.library,
                "libpq, version 14 or later; loaded only for a store of PostgreSQL"
            ) { $0.text($1, expecting: "the name of a library") }
            .needingRestart { $0.database.library = $1.database.library },
        ]
    }

    private static var reconciliation: [Setting<ProxyConfiguration>] {
        let standard = ReconcileConfiguration()
        return [
            .custom(
                "reconcile.window", ReconcileConfiguration.windowForm, default: "`3d`, if `reconcile.at` is set",
                \.reconcile?.window,
                """
                once a day, customers whose subscriptions end within this time before or after now are looked up, and \
                lost notifications and refunds are fetched; off unless a key of `reconcile` is set \
                ([STORE](STORE.md#reconciliation))
                """
            ) { node, name, settings in
                let expected = ReconcileConfiguration.windowForm
                guard let text = node.text(name, expecting: expected) else { return }
                guard let window = ReconcileConfiguration.window(text) else {
                    return node.note(name, "\(text): expected \(expected)")
                }
                settings.reconcile = settings.reconcile ?? standard
                settings.reconcile?.window = window
            }.reported(as: "reconcile"),
            .custom(
                "reconcile.at", "`HH:MM`, UTC, in quotes", default: "`04:00`, if `reconcile.window` is set",
                \.reconcile?.time,
                "when the reconciliation begins; a server that was not running then begins it at its start"
            ) { node, name, settings in
                let expected = "a time of day in UTC, for example \"04:00\""
                guard let text = node.text(name, expecting: expected) else { return }
                guard let time = ReconcileConfiguration.time(text) else {
                    return node.note(name, "\(text): expected \(expected)")
                }
                settings.reconcile = settings.reconcile ?? standard
                settings.reconcile?.time = time
            }.reported(as: "reconcile"),
        ]
    }

    /// A retention period: a number of days, or `forever`.
    private static func retention(
        _ name: String, _ path: WritableKeyPath<ProxyConfiguration, Int64?>, from minimum: Int64 = 1, _ data: String
    ) -> Setting<ProxyConfiguration> {
        let standard = defaults[keyPath: path].map { "\($0)" } ?? "forever"
        return .custom(
            "retention.\(name)", "\(minimum) to 36500 days, `forever`", default: standard, path,
            "[retention](STORE.md#retention) of \(data)"
        ) { node, name, settings in
            let expected = "\(minimum) to 36500 days, or forever"
            guard let text = node.text(name, expecting: expected) else { return }
            let days = Int64(text)
            if text != "forever", !(minimum...36_500).contains(days ?? 0) {
                node.note(name, "\(text): expected \(expected)")
            }
            settings[keyPath: path] = days
        }.reported(as: "retention")
    }

    private static var verification: [Setting<ProxyConfiguration>] {
        [
            .custom(
                "profile", "`apple`, `tolerant`", default: "`apple`", \.usesTolerantProfile,
                """
                `apple` accepts the receipts that Apple accepts; `tolerant` also repairs mangled ones before decoding, \
                and reads a form (`receipt-data=…`) and JSON that is escaped like one
                """
            ) { node, name, settings in
                enum Profile: String, CaseIterable { case apple, tolerant }
                settings.usesTolerantProfile = node.choice(name, of: Profile.self) == .tolerant
            },
            .custom(
                "trust.roots", "list of files or folders", default: "none", \.trustedRoots,
                """
                test roots, in addition to Apple's. In a folder, the files with the extension `.cer`, `.crt`, `.der` \
                or `.pem` are read; there must be at least one. With test roots, Apple's hosts and listeners that \
                are not on loopback are errors
                """
            ) { $2.trustedRoots = ConfigurationFile.certificates($1, of: $0) },
            .custom(
                "trust.intermediates", "list of files or folders", default: "none", \.intermediates,
                """
                intermediate certificates that are newer than this program; they are used to build a chain to a root \
                and are not trusted by themselves
                """
            ) { $2.intermediates = ConfigurationFile.certificates($1, of: $0) },
        ]
    }

    private static var upstreams: [Setting<ProxyConfiguration>] {
        [
            .url(
                "upstream.verifyReceipt.production", "URL", \.verifyReceipt.production,
                "URL for the source `apple`; plain http is allowed for loopback only"
            ).reported(as: "upstream.verifyReceipt"),
            .url(
                "upstream.verifyReceipt.sandbox", "URL", \.verifyReceipt.sandbox,
                "the same for sandbox receipts"
            ).reported(as: "upstream.verifyReceipt"),
            .custom(
                "upstream.proxy", "`http://HOST:PORT`", default: "`HTTPS_PROXY`", \.upstreamProxy,
                "HTTP proxy for upstream requests"
            ) { node, name, settings in
                settings.upstreamProxy = node.text(name, expecting: ConfigurationValidation.proxies)
            }.needingRestart { $0.upstreamProxy = $1.upstreamProxy },
            .custom(
                "upstream.connections", "1 to 100000 connections",
                default: "as many as the limit of file descriptors allows, at most 8192",
                \.upstreamConnections,
                """
                maximum of exchanges with one host of the App Store, or with one target of `forward`, at the same time; \
                further requests wait until their deadline. It is lower if the limit of file descriptors requires it \
                ([INSTALLATION](INSTALLATION.md#file-descriptors))
                """
            ) { node, name, settings in
                settings.upstreamConnections = node.integer(name, in: 1...100_000)
            }.needingRestart { $0.upstreamConnections = $1.upstreamConnections },
            .custom(
                "upstream.serverAPI.production", "base URL without a final slash",
                default: "`\(defaults.serverAPI.production)`", \.serverAPI.production,
                "base URL for the source `api`; plain http is allowed for loopback only"
            ) { node, name, settings in
                if let url = node.text(name, expecting: "a URL") { settings.serverAPI.production = url }
                settings.namesServerAPI = true
            }.reported(as: "upstream.serverAPI"),
            .url(
                "upstream.serverAPI.sandbox", "base URL without a final slash", \.serverAPI.sandbox,
                "the same for sandbox receipts"
            ).reported(as: "upstream.serverAPI"),
        ]
    }

    private static var answers: [Setting<ProxyConfiguration>] {
        [
            .custom(
                "mappings", "folder", default: "the tables in the program", \.mappings,
                """
                field tables that responses are written with; all of [Mappings](../Mappings), validated as by \
                `mappings check`
                """, read: ConfigurationFile.readMappings),
            .seconds(
                "deadlineSeconds", \.deadline, in: 1...30,
                "timeout from a request to its response, however slow the App Store is"),
            .custom(
                "outageStatus", OutageStatus.values, default: "\(defaults.outageStatus)", \.outageStatus,
                """
                the `status` of every 21005 of ours, never of Apple's; `503`: HTTP 503 with `Retry-After`, and 21005 \
                in the body ([COMPATIBILITY](COMPATIBILITY.md#outages))
                """
            ) { node, name, settings in
                guard let text = node.text(name, expecting: OutageStatus.values) else { return }
                if let status = OutageStatus(text) {
                    settings.outageStatus = status
                } else {
                    node.note(name, "\(text): expected \(OutageStatus.values)")
                }
            },
            .integer(
                "lastGood.days", \.lastGood.days, in: 0...365, .days,
                """
                how long Apple's last good responses are archived in `store`, for the time when Apple is not \
                available; 0 disables the archive
                """
            ).reported(as: "lastGood"),
            .row(
                "lastGood.megabytes", "1 to 1000000 megabytes", default: "\(defaults.lastGood.bytes >> 20)",
                \.lastGood.bytes, "maximum size of the archive; the oldest responses are deleted"
            ) { node, name in
                node.integer(name, in: 1...1_000_000).map { Int($0) << 20 }
            }.reported(as: "lastGood"),
            .secret(
                "sharedSecret", default: "none", \.sharedSecret,
                "the account's shared secret, for every configured app without one of its own"),
            .choice(
                "unknownApps", \.unknownApps,
                """
                receipts of other apps: forwarded to Apple unchanged, or refused with 21003 ([which rules are \
                firm](#which-rules-are-firm))
                """),
            .custom(
                "tokens", "list of secrets", default: "none", \.tokens,
                """
                bearer tokens for `/v1/*`, `/metrics`, `/`, `/comparisons` and `/customers`, each one line of at least 16 \
                visible ASCII characters. Without a token these are available on `operations.listen` only, and only for \
                [local requests](MONITORING.md#who-may-use-the-operations-listener)
                """
            ) { node, name, settings in
                settings.tokens = node.secrets(name, .text)
                for token in settings.tokens.map({ $0.reveal().utf8 })
                where token.count < minimumKeySize || !token.allSatisfy({ (0x21...0x7E).contains($0) }) {
                    node.note(name, "a token is not one line of at least \(minimumKeySize) visible ASCII characters")
                }
            },
        ]
    }

    private static var clients: [Setting<ProxyConfiguration>] {
        [
            .integer(
                "limits.requestsPerMinute", \.limits.requestsPerMinute, in: 1...1_000_000, .requestsPerMinute,
                """
                rate limit of one client on the public listener; above it the response is 21005, or 429 at `/v1/` \
                ([decision 19](decisions/0019-rate-limited-requests-get-21005.md))
                """),
            .integer(
                "limits.connections", \.limits.connections, in: 1...1_000_000, .connections,
                """
                maximum of open connections on the public listener. For one more, the connection is closed that has been \
                without a whole request for the longest time, and at least for a second; otherwise it waits. The maximum \
                is lower if the limit of file descriptors requires it ([INSTALLATION](INSTALLATION.md#sizing))
                """
            ).needingRestart { $0.limits.connections = $1.limits.connections },
            .integer(
                "limits.connectionsPerClient", \.limits.connectionsPerClient, in: 1...1_000_000, .connections,
                "maximum of open connections of one client; the newest is closed, counted and logged"),
            .integer(
                "limits.headSeconds", \.limits.headSeconds, in: 1...600, .seconds,
                "timeout from the first byte of a request to the end of its head; then the connection is closed"),
            .integer(
                "limits.requestSeconds", \.limits.requestSeconds, in: 1...3600, .seconds,
                "timeout from the first byte of a request to the end of its body; then the connection is closed"),
            .custom(
                "trustedProxies", "list of addresses and networks, for example `10.0.0.0/8`", default: "none",
                \.trustedProxies, "proxies whose `X-Forwarded-For` is trusted for the address of a client",
                read: ConfigurationFile.readTrustedProxies),
            .custom(
                "userHeader", "name of a header", default: "none", \.userHeader,
                "request header in which your backend names its user, for `replay`"
            ) { $2.userHeader = $0.text($1, expecting: "the name of a header") },
            .unreported("apps", "list", default: "none", "see below", read: ConfigurationFile.readApps),
            .custom(
                "tls", "the keys `certificate` and `privateKey`", default: "none", \.usesTLS,
                "TLS for `listen` ([INSTALLATION](INSTALLATION.md#the-listeners-own))"
            ) { node, name, settings in
                settings.tls = ConfigurationFile.tls(name, of: node)
            }.needingRestart { if $0.usesTLS != $1.usesTLS { $0.tls = $1.tls } },
            .custom(
                "tls.certificate", "path of a PEM file", default: "required in `tls`", \.tls?.certificates,
                "the certificate with its chain, the server's own first; reloaded on SIGHUP"),
            .unreported(
                "tls.privateKey", "path of a PEM file", default: "required in `tls`",
                "the unencrypted private key of the certificate; reloaded on SIGHUP"),
        ]
    }

    /// Minimum size of a token in bytes.
    private static let minimumKeySize = 16

    private var usesTLS: Bool { tls != nil }
}
