import ReceiptBridgeReceipts
import ReceiptBridgeBase
import ReceiptBridgeCryptography
import ReceiptBridgeResponses

/// A verifier of stored values with certificates that it trusts, and those that it has verified.
struct LibraryVerifier: Sendable {
    private let reader: ReceiptReader

    /// - Parameter certificates: Certificates in addition to Apple's: self-issued ones as roots, all others only as
    ///   intermediates.
    init(certificates: [String]) throws(OptionError) {
        do throws(CryptographyError) {
            var (roots, intermediates): ([Certificate], [Certificate]) = ([], [])
            for text in certificates {
                guard let der = Base64Text.decode(Array(text.utf8).span, .standard) else {
                    throw CryptographyError(.malformed, "a certificate is not base64")
                }
                let certificate = try Certificate(der: der.span)
                if certificate.isSelfIssued { roots.append(certificate) } else { intermediates.append(certificate) }
            }
            let anchors = try TrustAnchors.apple().adding(roots: roots, intermediates: intermediates)
            reader = ReceiptReader(trust: try TrustStore(anchors: anchors))
        } catch {
            throw OptionError(
                code: error.code == .malformed ? "badOptions" : error.code.rawValue, "certificates: \(error.reason)")
        }
    }

    /// Decodes a value and returns the JSON of the result.
    func decode(_ value: [UInt8], _ options: LibraryOptions) -> [UInt8] {
        let receipt = TextShape.isNothing(value) ? nil : reader.read(value)
        let beside = options.transactionIds.map { UnsignedIdentifiers(in: $0) } ?? UnsignedIdentifiers()
        let row = RowTreatment(receipt, beside: beside, UnverifiedRule())
        return JSONWriter.object {
            $0.member("digest", row.digest)
            $0.member("outcome", row.acceptance.rawValue)
            $0.member("reason", row.failure?.code)
            $0.member("kind", (receipt?.kind ?? .unknown).rawValue)
            $0.member("verified", receipt?.isVerified ?? false)
            $0.member("repairs", row.repairs)
            $0.member("environment", row.environment)
            $0.member("bundleId", row.bundleId)
            $0.member("originalTransactionIds", row.originalTransactionIds)
            $0.member("transactionIds", row.transactionIds)
            $0.member("unverifiedIds", row.unverifiedIds)
            guard options.hasPurchases else { return }
            $0.key("failure")
            Self.write(row.failure, into: &$0)
            Self.write(receipt.flatMap { $0.isVerified ? $0 : nil }, into: &$0)
        }
    }

    private static func write(_ failure: StoredFailure?, into writer: inout JSONWriter) {
        guard let failure else { return writer.null() }
        writer.object {
            $0.member("code", failure.code)
            $0.member("place", failure.place)
            $0.member("reason", failure.reason)
        }
    }

    /// Writes what an authentic receipt or JWS contains. Nothing of any other one, so that nobody relies on it.
    private static func write(_ receipt: DecodedReceipt?, into writer: inout JSONWriter) {
        let renderer = CamelCaseRenderer(tables: .bundled)
        writer.key("receipt")
        if let contents = receipt?.contents { renderer.writeReceipt(contents, into: &writer) } else { writer.null() }
        writer.key("purchases")
        if let contents = receipt?.contents {
            renderer.writeTransactions(of: contents, into: &writer)
        } else {
            writer.beginArray()
            for claims in receipt?.signed?.transactions ?? [] { writer.values(json: claims) }
            writer.endArray()
        }
        writer.key("payload")
        if let claims = receipt?.signed?.claims { writer.values(json: claims) } else { writer.null() }
        writer.object("nested") { writer in
            for (name, claims) in receipt?.signed?.nested ?? [] {
                writer.key(name)
                writer.values(json: claims)
            }
        }
    }
}
