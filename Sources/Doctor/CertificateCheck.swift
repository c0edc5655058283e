import Foundation
import ListenerTLS
import StoreTypes

/// Checks the names and the validity period of the public listener's certificate. That the private key matches was
/// checked when the configuration was read.
struct CertificateCheck {
    let certificate: ListenerCertificate
    let now: Timestamp

    private static let name = "tls.certificate"
    private static let renewal = "renew the certificate, then send SIGHUP to reload it"

    private var summary: String {
        let names = certificate.names.isEmpty ? "for no name" : certificate.names.joined(separator: ", ")
        return "\(names), \(day(certificate.validity.lowerBound)) to \(day(certificate.validity.upperBound))"
    }

    private func day(_ seconds: Int64) -> String {
        Date(timeIntervalSince1970: Double(seconds)).formatted(.iso8601.year().month().day())
    }

    /// Fails if clients would reject the certificate; warns if it expires within 14 days or lacks the certificate of
    /// its issuer.
    var result: CheckResult {
        let days = certificate.daysLeft(at: now.seconds)
        if days < 0 {
            return CheckResult(Self.name, .fail, "\(summary): expired; clients reject it", advice: Self.renewal)
        }
        if certificate.validity.lowerBound > now.seconds {
            return CheckResult(
                Self.name, .fail, "\(summary): not valid yet; clients reject it",
                advice: "check this machine's clock, too")
        }
        if certificate.names.isEmpty {
            return CheckResult(
                Self.name, .fail, "\(summary); clients reject it",
                advice: "use a certificate with a subjectAltName extension: clients ignore the common name")
        }
        if days < 14 { return CheckResult(Self.name, .warn, "\(summary): \(days) days left", advice: Self.renewal) }
        if certificate.lacksIssuer {
            return CheckResult(
                Self.name, .warn, "\(summary): without the certificate of its issuer",
                advice: "name the file with the whole chain (certbot: fullchain.pem), or clients may reject it")
        }
        return CheckResult(Self.name, .pass, summary)
    }
}
