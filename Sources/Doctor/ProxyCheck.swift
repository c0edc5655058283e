import Foundation
import Pipeline
import Server

/// Checks whether the outbound HTTP proxy accepts connections.
struct ProxyCheck {
    let settings: ProxyConfiguration
    let environment: [String: String]

    func result() async -> CheckResult {
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
        guard await PortProbe.connects(address) else {
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
