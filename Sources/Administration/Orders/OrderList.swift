package import AppStoreClients
import Base
package import Operations

/// A list of orders to look up, one id a line. Repeated ids are looked up once.
package struct OrderList: Sendable {
    /// A line, whose text may be no order id.
    package struct Entry: Sendable, Hashable {
        package let text: String
        package var id: OrderIdentifier? { OrderIdentifier(rawValue: text) }
    }

    package let entries: [Entry]

    /// The maximum length of a line in bytes.
    private static let maximumLine = 255

    /// - Throws: ``InvalidOperation`` for a line that is too long or not UTF-8.
    package init(_ bytes: [UInt8]) throws(InvalidOperation) {
        var entries: [Entry] = []
        var seen: Set<String> = []
        for (index, line) in bytes.split(separator: 0x0A, omittingEmptySubsequences: false).enumerated() {
            guard line.count <= Self.maximumLine, let text = String(validating: line, as: UTF8.self) else {
                throw InvalidOperation(
                    "--ids: line \(index + 1) is longer than \(Self.maximumLine) bytes, or not UTF-8")
            }
            let id = text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
            if !id.isEmpty, seen.insert(id).inserted { entries.append(Entry(text: id)) }
        }
        self.entries = entries
    }
}

extension OrderLookups {
    /// Looks up an entry of a list and returns its line: the JSON of ``OrderAnswer``. If the text is no order id, or
    /// Apple refuses it, `status` is null and the member `reason` is added.
    ///
    /// - Throws: ``UpstreamError`` if the lookup can succeed later; `StorageError`.
    package func result(_ entry: OrderList.Entry, _ options: CallOptions) async throws -> ListResult {
        guard let id = entry.id else {
            return Self.refusal(of: entry, "an order id is 1 to 64 letters and digits")
        }
        do {
            let report = try await lookUp(id, options)
            return ListResult(line: OrderAnswer.json(report), isSuccess: report.isFound)
        } catch let error as UpstreamError where error.isFinal {
            return Self.refusal(of: entry, error.errorNumber?.meaning ?? "\(error)")
        }
    }

    private static func refusal(of entry: OrderList.Entry, _ reason: String) -> ListResult {
        let line = JSONWriter.object { writer in
            writer.member("orderId", entry.text)
            writer.member("status", Int64?.none)
            writer.array("transactions", [Int]()) { _, _ in }
            writer.member("askedBefore", 0)
            writer.member("reason", reason)
        }
        return ListResult(line: line, isSuccess: false)
    }
}
