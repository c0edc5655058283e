import Foundation
import Pipeline
import StoreTypes
import Transport

/// Apple's hosts: whether they are reached, and what time it is there.
struct HostChecks {
    let settings: ProxyConfiguration
    let transport: any HTTPTransport
    let now: @Sendable () -> Timestamp

    private struct HostProbe {
        let checkup: CheckResult
        /// Ours less theirs, in seconds.
        var skew: Int64?
    }

    func all() async -> [CheckResult] {
        async let production = probe(settings.verifyReceipt.production, "verifyReceipt production")
        async let sandbox = probe(settings.verifyReceipt.sandbox, "verifyReceipt sandbox")
        var sights = await [production, sandbox]
        if settings.apps.contains(where: { $0.serverAPI != nil }) {
            async let production = probe(settings.serverAPI.production, "serverAPI production")
            async let sandbox = probe(settings.serverAPI.sandbox, "serverAPI sandbox")
            sights += await [production, sandbox]
        }
        // Tokens are judged by the Server API's clock.
        let clock = sights.reversed().compactMap(\.skew).first.map(Self.clock) ?? Self.unknownClock
        return sights.map(\.checkup) + [clock]
    }

    /// GET does nothing: verifyReceipt says 21000, the Server API that nobody is there without a token.
    private func probe(_ url: String, _ name: String) async -> HostProbe {
        do throws(TransportError) {
            let asked = now()
            let response = try await transport.send(
                HTTPRequest(method: .get, url: url, timeout: .seconds(8), maximumResponseBytes: 65_536))
            let host = try HTTPURL(url).origin
            let skew = response.headers["Date"].flatMap(Self.seconds).map { (asked.seconds + now().seconds) / 2 - $0 }
            guard response.status < 500 else {
                return HostProbe(
                    checkup: CheckResult(
                        name, .warn, "\(host) answers HTTP \(response.status)", advice: "try again later"),
                    skew: skew)
            }
            return HostProbe(checkup: CheckResult(name, .pass, "\(host) answers"), skew: skew)
        } catch {
            return HostProbe(
                checkup: CheckResult(
                    name, .fail, "\(error)", advice: "let this machine out to \(error.place), or name a proxy"))
        }
    }

    static func seconds(_ date: String) -> Int64? {
        let format = DateFormatter()
        format.locale = Locale(identifier: "en_US_POSIX")
        format.timeZone = .gmt
        format.dateFormat = "EEE, dd MMM yyyy HH:mm:ss zzz"
        return format.date(from: date).map { Int64($0.timeIntervalSince1970.rounded()) }
    }

    /// - Parameter skew: of this machine's clock, in seconds.
    static func clock(_ skew: Int64) -> CheckResult {
        guard abs(skew) > 2 else { return CheckResult("clock", .pass, "as the App Store's") }
        let text = "\(abs(skew)) s \(skew > 0 ? "ahead of" : "behind") the App Store's"
        guard abs(skew) > 60 else { return CheckResult("clock", .pass, text) }
        return CheckResult(
            "clock", abs(skew) > 300 ? .fail : .warn, text,
            advice:
                "set it by NTP: the Server API refuses tokens of another time, and subscriptions end too early or too late"
        )
    }

    private static let unknownClock = CheckResult(
        "clock", .warn, "nobody said what time it is", advice: "compare it with another machine's")
}
