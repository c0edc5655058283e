import ReceiptBridgeBase
import ReceiptBridgeCore
import Foundation
package import ReceiptBridgeServer
import ReceiptBridgeTransport

/// Checks whether the addresses of the listeners are free.
extension Doctor {
    var listenerChecks: [CheckResult] {
        [
            Self.listener("listen", settings.listen, isNeeded: true),
            Self.listener(
                "operations.listen", settings.operationsListen, isNeeded: settings.operationsListenIsExplicit),
        ]
    }

    /// Tries to bind the address. An address in use is only a warning, because the server itself may be running.
    private static func listener(
        _ key: String, _ address: ProxyConfiguration.Address, isNeeded: Bool
    ) -> CheckResult {
        switch PortProbe.bind(host: address.host, port: address.port) {
        case .free: return CheckResult(key, .pass, "\(address) is free")
        case .inUse:
            return CheckResult(
                key, .warn, "\(address) is already in use",
                advice: isNeeded
                    ? "expected if receipt-bridge is running; otherwise stop the other program, or choose another port"
                    : "expected if receipt-bridge is running; otherwise the operations listener will be disabled")
        case .unusable(let reason):
            return CheckResult(
                key, .fail, "\(address): \(reason)",
                advice: "use an address of this machine and a port that this user may use")
        }
    }
}

extension Doctor {
    /// That the private key matches was checked when the configuration was read. Fails if clients would reject the
    /// certificate; warns if it expires within 14 days or lacks the certificate of its issuer.
    func check(_ certificate: ListenerCertificate) -> CheckResult {
        let name = "tls.certificate"
        let renewal = "renew the certificate, then send SIGHUP to reload it"
        let names = certificate.names.isEmpty ? "for no name" : certificate.names.joined(separator: ", ")
        let (begin, end) = (certificate.validity.lowerBound, certificate.validity.upperBound)
        let summary =
            "\(names), \(Timestamp(seconds: begin).iso8601Date) to \(Timestamp(seconds: end).iso8601Date)"
        let now = now().seconds
        let days = certificate.daysLeft(at: now)
        if days < 0 {
            return CheckResult(name, .fail, "\(summary): expired; clients reject it", advice: renewal)
        }
        if begin > now {
            return CheckResult(
                name, .fail, "\(summary): not valid yet; clients reject it",
                advice: "check this machine's clock, too")
        }
        if certificate.names.isEmpty {
            return CheckResult(
                name, .fail, "\(summary); clients reject it",
                advice: "use a certificate with a subjectAltName extension: clients ignore the common name")
        }
        if days < 14 { return CheckResult(name, .warn, "\(summary): \(days) days left", advice: renewal) }
        if certificate.lacksIssuer {
            return CheckResult(
                name, .warn, "\(summary): without the certificate of its issuer",
                advice: "name the file with the whole chain (certbot: fullchain.pem), or clients may reject it")
        }
        return CheckResult(name, .pass, summary)
    }
}

extension Doctor {
    /// Whether the hard limit of file descriptors suffices: the server raises its soft limit to it.
    ///
    /// - Parameters:
    ///   - connections: The value of `limits.connections`.
    ///   - upstream: The value of `upstream.connections`.
    package static func descriptorCheck(
        connections: Int, upstream: Int?, limit: Int = FileDescriptorLimit.limits.hard
    ) -> CheckResult {
        func advice(_ key: String) -> String {
            "raise the hard limit (LimitNOFILE= of systemd, ulimit -Hn), or lower \(key)"
        }
        guard let budget = FileDescriptorBudget(limit: limit, connections: connections, upstream: upstream) else {
            return CheckResult(
                "descriptors", .fail, "the hard limit of \(limit) is too low to run the server",
                advice: advice("limits.connections"))
        }
        let upstreamConnections = budget.upstream.perOrigin
        let allowed =
            "the hard limit is \(limit): enough for \(budget.connections) connections and \(upstreamConnections) exchanges with a host of the App Store"
        if budget.connections < connections {
            return CheckResult(
                "descriptors", .warn, "\(allowed), fewer than limits.connections (\(connections))",
                advice: advice("limits.connections"))
        }
        if let upstream, upstreamConnections < upstream {
            return CheckResult(
                "descriptors", .warn, "\(allowed), fewer than upstream.connections (\(upstream))",
                advice: advice("upstream.connections"))
        }
        return CheckResult("descriptors", .pass, allowed)
    }

    package static func memoryCheck(_ budget: MemoryBudget, connections: Int) -> CheckResult {
        let allowed =
            "\(budget.limit >> 20) MB may be used: enough for \(budget.connections) connections and \(budget.exchanges) exchanges with the App Store at the same time"
        guard budget.connections < connections else { return CheckResult("memory", .pass, allowed) }
        return CheckResult(
            "memory", .warn, "\(allowed), fewer than limits.connections (\(connections))",
            advice: "raise the limit of the container or unit (MemoryMax= of systemd), or lower limits.connections")
    }
}
