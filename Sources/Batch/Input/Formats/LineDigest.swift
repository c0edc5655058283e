import ReceiptBridgeBase
import ReceiptBridgeCryptography

/// The id of a row that has none: `sha256:` and the hexadecimal digest of its line, without the line break.
///
/// Unlike a row number, it is the same wherever the line stands, so that rows of parts that were read apart do not get
/// the same id.
struct LineDigest {
    private let digest = RunningDigest()
    /// `true` if the last part ended with a carriage return, which may belong to the line break.
    private var endsWithReturn = false

    /// Returns the id of a line, which may include its line break.
    static func id(of line: Span<UInt8>) -> String {
        text(of: DigestAlgorithm.sha256.digest(of: line.extracting(0..<line.lengthWithoutBreak)) ?? [])
    }

    mutating func add(_ part: Span<UInt8>) {
        guard !part.isEmpty else { return }
        if endsWithReturn { digest.update(Self.carriageReturn.span) }
        endsWithReturn = part[part.count - 1] == 0x0D
        digest.update(part.extracting(0..<part.count - (endsWithReturn ? 1 : 0)))
    }

    /// Adds the last part, which may include the line break, and returns the id.
    mutating func id(endingWith part: Span<UInt8>) -> String {
        let length = part.lengthWithoutBreak
        let hasBreak = length < part.count
        if endsWithReturn, length > 0 || !hasBreak { digest.update(Self.carriageReturn.span) }
        digest.update(part.extracting(0..<length))
        return Self.text(of: digest.finish())
    }

    private static let carriageReturn: [UInt8] = [0x0D]

    private static func text(of digest: [UInt8]) -> String { "sha256:\(Hexadecimal.text(of: digest))" }
}

extension Span<UInt8> {
    /// Number of bytes before a line break (LF or CRLF) at the end.
    fileprivate var lengthWithoutBreak: Int {
        guard count > 0, self[count - 1] == 0x0A else { return count }
        return count > 1 && self[count - 2] == 0x0D ? count - 2 : count - 1
    }
}

extension SourceRow {
    func named(_ id: @autoclosure () -> String) -> SourceRow {
        guard self.id == nil else { return self }
        return SourceRow(
            number: number, id: id(), value: value, accountToken: accountToken, transactionIds: transactionIds)
    }
}
