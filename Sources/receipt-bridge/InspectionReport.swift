import Foundation
import VerifyReceipt
import ReceiptDecoding
import Responses
import Reports
import AppStoreTypes

/// The output of `decode` for one input.
struct InspectionReport {
    let file: String
    let inspection: ReceiptDecoder.Inspection
    let tables: FieldTables
    /// The inspection of the JWS; `nil` if the input is a receipt.
    var signedText: JWSInspection?

    /// Returns the report for a file that cannot be read.
    static func unreadable(_ file: String) -> InspectionReport {
        InspectionReport(
            file: file,
            inspection: ReceiptDecoder.Inspection(
                kind: .unknown, repairs: [],
                failure: ReceiptDecodingError(.unreadable, at: "file", "cannot be read"), contents: nil),
            tables: .bundled)
    }

    /// A JSON object with `file`, `kind`, `verified`, `repairs`, `failure`, `environment`, `environmentConflict`
    /// (only for transactionReceipts), `bundleId`, `receipt`, `transactions`, `lookupKeys`.
    var json: [UInt8] {
        var writer = JSONWriter(reserving: 4096)
        writer.beginObject()
        writer.key("file")
        writer.value(file)
        writer.key("kind")
        writer.value(inspection.kind.rawValue)
        writer.key("verified")
        writer.value(isVerified)
        writer.key("repairs")
        writer.beginArray()
        for repair in inspection.repairs { writer.value(repair.rawValue) }
        writer.endArray()
        writer.key("failure")
        write(failure, into: &writer)
        if let signedText {
            write(signedText, into: &writer)
        } else if let contents = inspection.contents {
            write(contents, into: &writer)
        } else {
            writeNothing(into: &writer)
        }
        writer.endObject()
        return writer.finish()
    }

    var failure: ReceiptDecodingError? { signedText.map(\.failure) ?? inspection.failure }
    var isVerified: Bool { failure == nil }

    /// Writes `environment`, `bundleId`, `payload` and, for a notification, `nested`: the payloads of the signed
    /// texts inside it.
    private func write(_ report: JWSInspection, into writer: inout JSONWriter) {
        writer.key("environment")
        write(report.environment, into: &writer)
        writer.key("bundleId")
        write(report.bundleId, into: &writer)
        guard let claims = report.claims else { return }
        writer.key("payload")
        writer.values(json: claims)
        guard !report.nested.isEmpty else { return }
        writer.key("nested")
        writer.beginObject()
        for (name, claims) in report.nested {
            writer.key(name)
            writer.values(json: claims)
        }
        writer.endObject()
    }

    private func write(_ failure: ReceiptDecodingError?, into writer: inout JSONWriter) {
        guard let failure else { return writer.null() }
        writer.beginObject()
        writer.key("code")
        writer.value(failure.code.rawValue)
        writer.key("place")
        writer.value(failure.place)
        writer.key("reason")
        writer.value(failure.reason)
        writer.endObject()
    }

    private func write(_ contents: ReceiptContents, into writer: inout JSONWriter) {
        let renderer = CamelCaseRenderer(tables: tables)
        writer.key("environment")
        write(contents.environment?.rawValue, into: &writer)
        if case .transaction(let receipt) = contents {
            writer.key("environmentConflict")
            writer.value(receipt.environmentConflict)
        }
        writer.key("bundleId")
        write(contents.bundleId, into: &writer)
        writer.key("receipt")
        renderer.writeReceipt(contents, into: &writer)
        writer.key("transactions")
        renderer.writeTransactions(of: contents, into: &writer)
        let keys = contents.lookupKeys
        writer.key("lookupKeys")
        writer.beginObject()
        writer.key("originalTransactionIds")
        write(keys.originalTransactionIds, into: &writer)
        writer.key("transactionIds")
        write(keys.transactionIds, into: &writer)
        writer.endObject()
    }

    /// Writes the same keys if nothing could be read, so that a script finds them in every line.
    private func writeNothing(into writer: inout JSONWriter) {
        for key in ["environment", "bundleId", "receipt"] {
            writer.key(key)
            writer.null()
        }
        writer.key("transactions")
        writer.beginArray()
        writer.endArray()
        writer.key("lookupKeys")
        writer.beginObject()
        writer.key("originalTransactionIds")
        write([], into: &writer)
        writer.key("transactionIds")
        write([], into: &writer)
        writer.endObject()
    }

    private func write(_ text: String?, into writer: inout JSONWriter) {
        if let text { writer.value(text) } else { writer.null() }
    }

    private func write(_ identifiers: [TransactionIdentifier], into writer: inout JSONWriter) {
        writer.beginArray()
        for identifier in identifiers { writer.value(identifier.rawValue) }
        writer.endArray()
    }

    // MARK: - Text

    var text: String {
        var lines = ["\(printable(file)): \(kindName), \(verdict)"]
        if !inspection.repairs.isEmpty {
            lines.append("  repaired:     \(inspection.repairs.map(\.rawValue).joined(separator: ", "))")
        }
        if let failure {
            lines.append("  failure:      \(failure.code.rawValue) at \(failure.place)")
            lines.append("                \(failure.reason)")
        }
        if let signedText {
            lines.append("  environment:  \(printable(signedText.environment ?? "unknown"))")
            lines.append("  bundle id:    \(printable(signedText.bundleId))")
            return (lines + JWSListing(inspection: signedText).lines).joined(separator: "\n")
        }
        guard let contents = inspection.contents else { return lines.joined(separator: "\n") }
        lines.append("  environment:  \(contents.environment?.rawValue ?? "unknown")")
        lines.append("  bundle id:    \(printable(contents.bundleId))")
        switch contents {
        case .app(let receipt):
            lines.append("  created:      \(date(receipt.receiptCreationDate))")
            lines.append("  app version:  \(printable(receipt.applicationVersion))")
            lines.append("  purchases:    \(receipt.purchases.count)")
            lines += receipt.purchases.map { purchase in
                line(
                    purchase.productId, purchase.transactionId, purchase.originalTransactionId,
                    from: purchase.purchaseDate, to: purchase.expiresDate)
            }
        case .transaction(let receipt):
            lines.append(
                line(
                    receipt.productId, receipt.transactionId, receipt.originalTransactionId,
                    from: receipt.purchaseDate, to: receipt.expiresDate))
        }
        return lines.joined(separator: "\n")
    }

    private var kindName: String {
        switch inspection.kind {
        case .appReceipt: "App Receipt"
        case .transactionReceipt: "transactionReceipt (iOS 6)"
        case .jws: signedText.map { JWSListing(inspection: $0).kindName } ?? "signed text (JWS)"
        case .unknown: "not a receipt"
        }
    }

    /// The capitals make the result visible in a long listing.
    private var verdict: String { isVerified ? "authentic" : "NOT AUTHENTIC" }

    /// Returns a line about one purchase.
    private func line(
        _ product: String?, _ transaction: String?, _ original: String?, from: Timestamp?, to: Timestamp?
    ) -> String {
        let period = to.map { " until \(date($0))" } ?? ""
        return "  - \(printable(product)) \(printable(transaction)) (of \(printable(original))) \(date(from))\(period)"
    }

    private func date(_ timestamp: Timestamp?) -> String {
        timestamp.map { DateTriplet($0).text } ?? "-"
    }

    /// Escapes control characters and line breaks, so that a product id cannot imitate a line of this output.
    private func printable(_ text: String?) -> String { text.map { PrintableText.text(of: $0) } ?? "-" }
}
