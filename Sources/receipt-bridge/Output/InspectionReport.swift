import ReceiptBridgeBase
import ReceiptBridgeComparison
import ReceiptBridgeReceipts
import ReceiptBridgeResponses

/// The output of `decode` for one input.
struct InspectionReport {
    let file: String
    let receipt: DecodedReceipt
    let tables: FieldTables

    static func unreadable(_ file: String) -> InspectionReport {
        let failure = ReceiptDecodingError(.unreadable, at: "file", "cannot be read")
        return InspectionReport(file: file, receipt: DecodedReceipt(nothing: failure), tables: .bundled)
    }

    /// A JSON object with `file`, `kind`, `verified`, `repairs`, `failure`, `environment`, `environmentConflict`
    /// (only for transactionReceipts), `bundleId`, `receipt`, `transactions`, `lookupKeys`.
    var json: [UInt8] {
        var writer = JSONWriter(reserving: 4096)
        writer.beginObject()
        writer.member("file", file)
        writer.member("kind", receipt.kind.rawValue)
        writer.member("verified", receipt.isVerified)
        writer.member("repairs", receipt.repairs.map(\.rawValue))
        writer.key("failure")
        write(receipt.failure, into: &writer)
        if let signedText = receipt.signed {
            write(signedText, into: &writer)
        } else if let contents = receipt.contents {
            write(contents, into: &writer)
        } else {
            writeNothing(into: &writer)
        }
        writer.endObject()
        return writer.finish()
    }

    /// For a notification, `nested` has the payloads of the signed texts inside it.
    private func write(_ report: JWSInspection, into writer: inout JSONWriter) {
        writer.member("environment", report.environment)
        writer.member("bundleId", report.bundleId)
        guard let claims = report.claims else { return }
        writer.key("payload")
        writer.values(json: claims)
        guard !report.nested.isEmpty else { return }
        writer.object("nested") { writer in
            for (name, claims) in report.nested {
                writer.key(name)
                writer.values(json: claims)
            }
        }
    }

    private func write(_ failure: ReceiptDecodingError?, into writer: inout JSONWriter) {
        guard let failure else { return writer.null() }
        writer.object {
            $0.member("code", failure.code.rawValue)
            $0.member("place", failure.place)
            $0.member("reason", failure.reason)
        }
    }

    private func write(_ contents: ReceiptContents, into writer: inout JSONWriter) {
        let renderer = CamelCaseRenderer(tables: tables)
        writer.member("environment", contents.environment?.rawValue)
        if case .transaction(let receipt) = contents {
            writer.member("environmentConflict", receipt.environmentConflict)
        }
        writer.member("bundleId", contents.bundleId)
        writer.key("receipt")
        renderer.writeReceipt(contents, into: &writer)
        writer.key("transactions")
        renderer.writeTransactions(of: contents, into: &writer)
        let keys = contents.lookupKeys
        writer.object("lookupKeys") {
            $0.member("originalTransactionIds", keys.originalTransactionIds.map(\.rawValue))
            $0.member("transactionIds", keys.transactionIds.map(\.rawValue))
        }
    }

    /// Writes the same keys if nothing could be read, so that a script finds them in every line.
    private func writeNothing(into writer: inout JSONWriter) {
        for key in ["environment", "bundleId", "receipt"] {
            writer.key(key)
            writer.null()
        }
        writer.member("transactions", [String]())
        writer.object("lookupKeys") {
            $0.member("originalTransactionIds", [String]())
            $0.member("transactionIds", [String]())
        }
    }

    // MARK: - Text

    var text: String {
        var lines = ["\(Self.printable(file)): \(kindName), \(verdict)"]
        if !receipt.repairs.isEmpty {
            lines.append("  repaired:     \(receipt.repairs.map(\.rawValue).joined(separator: ", "))")
        }
        if let failure = receipt.failure {
            lines.append("  failure:      \(failure.code.rawValue) at \(failure.place)")
            lines.append("                \(failure.reason)")
        }
        if let signedText = receipt.signed {
            lines.append("  environment:  \(Self.printable(signedText.environment ?? "unknown"))")
            lines.append("  bundle id:    \(Self.printable(signedText.bundleId))")
            return (lines + JWSListing(inspection: signedText).lines).joined(separator: "\n")
        }
        guard let contents = receipt.contents else { return lines.joined(separator: "\n") }
        lines.append("  environment:  \(contents.environment?.rawValue ?? "unknown")")
        lines.append("  bundle id:    \(Self.printable(contents.bundleId))")
        switch contents {
        case .app(let receipt):
            lines.append("  created:      \(Self.date(receipt.receiptCreationDate))")
            lines.append("  app version:  \(Self.printable(receipt.applicationVersion))")
            lines.append("  purchases:    \(receipt.purchases.count)")
            lines += receipt.purchases.map { purchase in
                Self.line(
                    purchase.productId, purchase.transactionId, purchase.originalTransactionId,
                    from: purchase.purchaseDate, to: purchase.expiresDate)
            }
        case .transaction(let receipt):
            lines.append(
                Self.line(
                    receipt.productId, receipt.transactionId, receipt.originalTransactionId,
                    from: receipt.purchaseDate, to: receipt.expiresDate))
        }
        return lines.joined(separator: "\n")
    }

    private var kindName: String {
        switch receipt.kind {
        case .appReceipt: "App Receipt"
        case .transactionReceipt: "transactionReceipt (iOS 6)"
        case .jws: receipt.signed.map { JWSListing(inspection: $0).kindName } ?? "signed text (JWS)"
        case .unknown: "not a receipt"
        }
    }

    /// The capitals make the result visible in a long listing.
    private var verdict: String { receipt.isVerified ? "authentic" : "NOT AUTHENTIC" }

    static func line(
        _ product: String?, _ transaction: String?, _ original: String?, from: Timestamp?, to: Timestamp?
    ) -> String {
        let period = to.map { " until \(date($0))" } ?? ""
        let first = original == transaction ? "" : " (first transaction \(printable(original)))"
        return "  - \(printable(product)) \(printable(transaction))\(first) \(date(from))\(period)"
    }

    private static func date(_ timestamp: Timestamp?) -> String { timestamp?.displayText ?? "-" }

    /// Escapes control characters and line breaks, so that a product id cannot imitate a line of this output.
    static func printable(_ text: String?) -> String { text.map { PrintableText.text(of: $0) } ?? "-" }
}

/// The payload of a JWS for people: one line per claim, in the order of the payload.
struct JWSListing {
    let inspection: JWSInspection

    /// Number of claims that are read; further claims are not shown.
    private static let maximumClaims = 10_000

    var lines: [String] {
        let claims = inspection.claims.map { Self.lines($0) } ?? []
        return claims + inspection.nested.flatMap { name, claims in ["  \(name):"] + Self.lines(claims, depth: 2) }
    }

    /// The kind of the JWS by its claims, for example `signed transaction (JWS)`.
    var kindName: String {
        let object = inspection.claims.flatMap { try? JSONObject($0) }
        for (claim, name) in Self.kinds where object?.has(claim) == true { return "\(name) (JWS)" }
        return "signed text (JWS)"
    }

    /// Kinds by a claim that only they have; the first match applies.
    private static let kinds: [(claim: StaticString, name: String)] = [
        ("notificationType", "notification"), ("receiptType", "signed app transaction"),
        ("autoRenewStatus", "signed renewal"), ("autoRenewProductId", "signed renewal"),
        ("transactionId", "signed transaction"),
    ]

    private static func lines(_ json: [UInt8], depth: Int = 1) -> [String] {
        guard let outline = try? JSONOutline(json, maximumNodes: maximumClaims) else { return [] }
        return lines(outline, of: 0, depth: depth)
    }

    private static func lines(_ outline: JSONOutline, of container: Int, depth: Int) -> [String] {
        let indent = String(repeating: "  ", count: depth)
        return outline.children(of: container).flatMap { child -> [String] in
            let name = outline.name(child).map { PrintableText.text(of: $0) + ":" } ?? "-"
            guard !outline.isObject(child), !outline.isArray(child) else {
                return ["\(indent)\(name)"] + lines(outline, of: child, depth: depth + 1)
            }
            return ["\(indent)\(name) \(value(outline, child, name: name))"]
        }
    }

    /// A nested JWS is listed separately below, so only its length is shown here.
    private static func value(_ outline: JSONOutline, _ index: Int, name: String) -> String {
        if case .string(let string) = outline.nodes[index].value, let text = string.text(in: outline.bytes.span) {
            let isSigned = text.utf8.count > 200 && text.split(separator: ".").count == 3
            return isSigned ? "JWS, \(text.utf8.count) bytes" : PrintableText.text(of: String(text.prefix(500)))
        }
        let spelling = String(decoding: outline.bytes[outline.nodes[index].value.whole], as: UTF8.self)
        guard name.hasSuffix("Date:"), let milliseconds = Int64(spelling) else { return spelling }
        return "\(Timestamp(milliseconds: milliseconds).iso8601) (\(spelling))"
    }
}
