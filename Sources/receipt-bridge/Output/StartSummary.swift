import ReceiptBridgeBase
import ReceiptBridgeCore
import ReceiptBridgeServer
import ReceiptBridgeStorage

/// What a person wants to know when `serve` has started on a terminal: addresses, apps, store and configuration.
struct StartSummary {
    private let lines: [(name: String, value: String)]

    private static let maximumApps = 10

    init(_ settings: ProxyConfiguration, ports: ListeningPorts, configuration: String?) {
        var address = settings.listen
        address.port = ports.public
        var lines = [("public", "\(settings.tls == nil ? "http" : "https")://\(address)/verifyReceipt")]
        if let port = ports.operations {
            var address = settings.operationsListen
            address.port = port
            lines += [("operations", "http://\(address)"), ("status page", "http://\(address)/")]
        } else {
            lines.append(("operations", "off, the address is in use"))
        }
        if settings.apps.isEmpty {
            lines.append(("apps", "none configured; \(AppConfiguration(bundleId: nil).sources)"))
        }
        for app in settings.apps.prefix(Self.maximumApps) {
            lines.append(("app", "\(app.bundleId?.rawValue ?? "-"): \(app.sources)"))
        }
        let hidden = settings.apps.count - Self.maximumApps
        if hidden > 0 { lines.append(("", "and \(hidden) more")) }
        lines.append(("store", settings.store?.place ?? "none; nothing is kept after a restart"))
        lines.append(("configuration", configuration ?? "none"))
        self.lines = lines
    }

    /// One line per fact, indented, names aligned.
    var text: String {
        let width = lines.map(\.name.count).max() ?? 0
        return lines.map { name, value in
            let space = String(repeating: " ", count: width - name.count + 2)
            return "  \(Terminal.style(name, as: .heading))\(space)\(Terminal.visible(value))\n"
        }.joined()
    }
}

extension AppConfiguration {
    /// The sources in their order, for example `api, then receipt`.
    fileprivate var sources: String { answer.map(\.rawValue).joined(separator: ", then ") }
}
