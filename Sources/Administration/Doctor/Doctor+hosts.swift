import ReceiptBridgeAppStore
import ReceiptBridgeBase
import ReceiptBridgeCore
import Foundation
import ReceiptBridgeServer
import ReceiptBridgeTransport

/// Checks whether Apple's hosts can be reached, and compares this machine's clock with theirs.
extension Doctor {
    /// The result of one request to a host, and the difference between this machine's clock and the host's in seconds:
    /// positive if this clock is ahead, `nil` if it is unknown.
    private typealias HostProbe = (result: CheckResult, skew: Int64?)

    /// Sends the requests concurrently. Hosts of the Server API are checked only if an app has a key for it.
    func hostChecks(_ transport: any HTTPTransport) async -> [CheckResult] {
        async let production = probe(settings.verifyReceipt.production, "verifyReceipt production", transport)
        async let sandbox = probe(settings.verifyReceipt.sandbox, "verifyReceipt sandbox", transport)
        var probes = await [production, sandbox]
        if settings.apps.contains(where: { $0.serverAPI != nil }) {
            async let production = probe(settings.serverAPI.production, "serverAPI production", transport)
            async let sandbox = probe(settings.serverAPI.sandbox, "serverAPI sandbox", transport)
            probes += await [production, sandbox]
        }
        // The Server API's clock is preferred, because the Server API checks the times of tokens.
        let clock = probes.reversed().compactMap(\.skew).first.map(Self.clock) ?? Self.unknownClock
        return probes.map(\.result) + [clock]
    }

    /// A GET has no effect: verifyReceipt responds with 21000, and the Server API with 401 because there is no token.
    private func probe(_ url: String, _ name: String, _ transport: any HTTPTransport) async -> HostProbe {
        do throws(TransportError) {
            let sentAt = now()
            let response = try await transport.send(
                HTTPRequest(method: .get, url: url, timeout: .seconds(8), maximumResponseBytes: 65_536))
            let host = try HTTPURL(url).origin
            let skew = response.dateSeconds.map { (sentAt.seconds + now().seconds) / 2 - $0 }
            guard response.status < 500 else {
                let text = "\(host) responds with HTTP \(response.status)"
                return (CheckResult(name, .warn, text, advice: "try again later"), skew)
            }
            return (CheckResult(name, .pass, "\(host) responds"), skew)
        } catch {
            let advice = "allow outbound connections from this machine to \(error.place), or configure upstream.proxy"
            return (CheckResult(name, .fail, "\(error)", advice: advice), nil)
        }
    }

    /// Returns the result for a clock difference: a warning above 60 s, a failure above 300 s.
    ///
    /// - Parameter skew: Difference in seconds; positive if this machine's clock is ahead.
    private static func clock(_ skew: Int64) -> CheckResult {
        guard abs(skew) > 2 else { return CheckResult("clock", .pass, "agrees with the App Store's") }
        let text = "\(abs(skew)) s \(skew > 0 ? "ahead of" : "behind") the App Store's"
        guard abs(skew) > 60 else { return CheckResult("clock", .pass, text) }
        return CheckResult(
            "clock", abs(skew) > 300 ? .fail : .warn, text,
            advice:
                "synchronize it with NTP: the Server API rejects tokens with a wrong time, and subscriptions expire too early or too late"
        )
    }

    private static let unknownClock = CheckResult(
        "clock", .warn, "no host reported its time", advice: "compare this machine's clock with another machine's")
}

extension Doctor {
    func proxyCheck() async -> CheckResult {
        guard let (text, setting) = proxy else {
            return CheckResult("proxy", .pass, "none: Apple is contacted directly")
        }
        // Only host and port are printed, because the URL may contain a password.
        let url = URLComponents(string: text.contains("://") ? text : "http://\(text)")
        guard let url, let host = url.host, !host.isEmpty else {
            return CheckResult("proxy", .fail, "\(setting) is not a URL", advice: "use the form http://host:port")
        }
        let address = ProxyConfiguration.Address(
            host: host.trimmingCharacters(in: ["[", "]"]), port: url.port ?? (url.scheme == "https" ? 443 : 1080))
        guard await PortProbe.connects(host: address.host, port: address.port) else {
            return CheckResult(
                "proxy", .fail, "\(address), from \(setting): connection failed",
                advice: "Apple cannot be reached without it")
        }
        return CheckResult("proxy", .pass, "\(address), from \(setting)")
    }

    /// The proxy and the setting it comes from, in the order of precedence that libcurl uses.
    private var proxy: (text: String, setting: String)? {
        if let proxy = settings.upstreamProxy { return (proxy, "upstream.proxy") }
        for name in ["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"] {
            if let text = environment[name], !text.isEmpty { return (text, name) }
        }
        return nil
    }
}
