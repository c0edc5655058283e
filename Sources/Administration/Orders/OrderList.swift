package import ReceiptBridgeAppStore
import ReceiptBridgeBase
package import ReceiptBridgeCore

/// A list of orders to look up, one id a line. Repeated ids are looked up once.
package enum OrderList {
    /// The maximum length of a line in bytes.
    private static let maximumLine = 255

    /// Returns the texts of the lines, which may be no order ids.
    ///
    /// - Throws: ``InvalidOperation`` for a line that is too long or not UTF-8.
    package static func entries(of bytes: [UInt8]) throws(InvalidOperation) -> [String] {
        var entries: [String] = []
        var seen: Set<String> = []
        for (index, line) in bytes.split(separator: 0x0A, omittingEmptySubsequences: false).enumerated() {
            guard line.count <= maximumLine, let text = String(validating: line, as: UTF8.self) else {
                throw InvalidOperation(
                    "--ids: line \(index + 1) is longer than \(maximumLine) bytes, or not UTF-8")
            }
            let id = text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
            if !id.isEmpty, seen.insert(id).inserted { entries.append(id) }
        }
        return entries
    }
}

extension OrderReport {
    /// Returns the line of an entry: the JSON of ``OrderAnswer``. If the text is no order id, or Apple refuses it,
    /// `status` is null and the member `reason` is added.
    ///
    /// - Throws: ``UpstreamError`` if the lookup can succeed later.
    package static func result(
        of entry: String, _ options: CallOptions, from client: (OrderIdentifier?) async throws -> ServerAPIClient
    ) async throws -> ListResult {
        let id = OrderIdentifier(rawValue: entry)
        let client = try await client(id)
        guard let id else {
            return refusedEntry(of: entry, "an order id is 1 to 64 letters and digits")
        }
        do throws(UpstreamError) {
            let report = try await OrderReport(of: id, from: client, options)
            return ListResult(line: OrderAnswer.json(report), isSuccess: report.isFound)
        } catch {
            guard error.isFinal else { throw error }
            return refusedEntry(of: entry, error.errorNumber?.meaning ?? "\(error)")
        }
    }

    private static func refusedEntry(of entry: String, _ reason: String) -> ListResult {
        let line = JSONWriter.object { writer in
            writer.member("orderId", entry)
            writer.member("status", Int64?.none)
            writer.array("transactions", [Int]()) { _, _ in }
            writer.member("reason", reason)
        }
        return ListResult(line: line, isSuccess: false)
    }
}
