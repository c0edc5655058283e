import ReceiptBridgeBase
import Foundation
import ReceiptBridgeComparison
import Synchronization
import ReceiptBridgeCore
import ReceiptBridgeServer
import ReceiptBridgeStorage

/// Progress on standard error: on a terminal one line with a bar, which is rewritten and never wider than the terminal,
/// otherwise a plain line every few seconds.
final class ProgressLine: Sendable {
    private let isTerminal = Terminal.isCapable(STDERR_FILENO)
    private let hasLine = Mutex(false)
    private let pace = Mutex(ProgressPace())
    private let begin = ContinuousClock.now

    var pause: Duration { isTerminal ? .milliseconds(100) : .seconds(5).atTestSpeed(atLeast: .milliseconds(500)) }

    /// Columns that stay empty: for the cursor, and for the `^C` that a terminal prints if the key is pressed.
    private static let margin = 3

    /// Shows the line. The width is read each time, because a terminal can be resized.
    func show(_ line: ProgressText) {
        guard !Terminal.isQuiet else { return }
        guard isTerminal else { return Terminal.say(line.text) }
        hasLine.withLock { $0 = true }
        let seconds = begin.duration(to: .now) / .seconds(1)
        let shown = line.line(
            columns: Terminal.columns(of: STDERR_FILENO) - Self.margin,
            pace: pace.withLock { $0.parts(of: line, at: seconds) })
        Terminal.note("\r\u{1B}[2K\(Terminal.style(shown.bar, as: .good))\(shown.rest)")
    }

    /// Clears the line, so that other lines can be printed.
    func clear() {
        let wasShown = hasLine.withLock { wasShown in
            defer { wasShown = false }
            return wasShown
        }
        if wasShown { Terminal.note("\r\u{1B}[2K") }
    }

    /// Shows the result of `text` until `body` has returned; shows nothing while it is `nil`.
    ///
    /// - Parameter stop: Called at the first Ctrl-C or SIGTERM; `nil` if these are handled elsewhere.
    func showing<Value, Failure: Error>(
        _ text: @escaping @Sendable () -> ProgressText?, stop: (@Sendable () -> Void)? = nil,
        while body: () async throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        let progressTask = Task {
            while (try? await Task.sleep(for: pause)) != nil {
                if let text = text() { show(text) } else { clear() }
            }
        }
        var signals: Task<Void, Never>?
        if let stop { signals = await StopSignals.watching(stop) }
        let result = await Result(catching: body)
        signals?.cancel()
        progressTask.cancel()
        await progressTask.value
        clear()
        return try result.get()
    }
}

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
