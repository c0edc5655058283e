import ReceiptBridgeBase
import ReceiptBridgeReceipts
import ReceiptBridgeComparison

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
