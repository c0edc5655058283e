import Foundation
import Pipeline
import Server

/// The way out: through which proxy, and whether somebody is there.
struct ProxyCheckup {
    let settings: Settings
    let environment: [String: String]

    func result() async -> Checkup {
        guard let (text, place) = proxy else { return Checkup("proxy", .pass, "none: Apple is asked directly") }
        // Only host and port are shown: the rest can hold a password.
        let url = URLComponents(string: text.contains("://") ? text : "http://\(text)")
        guard let url, let host = url.host, !host.isEmpty else {
            return Checkup("proxy", .fail, "\(place) is no URL", advice: "http://host:port")
        }
        let address = Settings.Address(
            host: host.trimmingCharacters(in: ["[", "]"]), port: url.port ?? (url.scheme == "https" ? 443 : 1080))
        guard await AddressProbe.connects(address) else {
            return Checkup(
                "proxy", .fail, "\(address), by \(place): nobody is there", advice: "nothing reaches Apple without it")
        }
        return Checkup("proxy", .pass, "\(address), by \(place)")
    }

    /// As libcurl chooses it.
    private var proxy: (text: String, place: String)? {
        if let proxy = settings.upstreamProxy { return (proxy, "upstream.proxy") }
        for name in ["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"] {
            if let text = environment[name], !text.isEmpty { return (text, name) }
        }
        return nil
    }
}
