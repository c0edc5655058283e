extension SQLValue {
    /// Appends the value of a column with its type and length, so that different lists of values never give the same
    /// bytes.
    package func append(to bytes: inout [UInt8]) {
        switch self {
        case .null: bytes.append(0)
        case .boolean(let flag): SQLValue.integer(flag ? 1 : 0).append(to: &bytes)
        case .integer(let integer):
            bytes.append(1)
            withUnsafeBytes(of: integer.bigEndian) { bytes += $0 }
        case .text(let text): Self.append(text.utf8, tag: 2, to: &bytes)
        case .bytes(let data): Self.append(data, tag: 3, to: &bytes)
        case .jws(.raw(let text)): Self.append(text.utf8, tag: 4, to: &bytes)
        case .jws(.packed(let packed)): Self.append(packed.encoded, tag: 5, to: &bytes)
        // No column has an array.
        case .jws(.damaged), .integers, .texts, .byteStrings, .array: bytes.append(6)
        }
    }

    private static func append(_ data: some Collection<UInt8>, tag: UInt8, to bytes: inout [UInt8]) {
        bytes.append(tag)
        withUnsafeBytes(of: Int64(data.count).bigEndian) { bytes += $0 }
        bytes += data
    }
}

/// The key of a row, by which a copy resumes.
package struct TransferKey: Sendable, Hashable {
    package let values: [SQLValue]

    init(_ values: [SQLValue]) { self.values = values }

    package var bytes: [UInt8] {
        var bytes: [UInt8] = []
        for value in values { value.append(to: &bytes) }
        return bytes
    }

    /// Reads ``bytes``; `nil` for other bytes. The values of a key are integers, texts and bytes.
    init?(bytes: [UInt8]) {
        var rest = bytes[...]
        var values: [SQLValue] = []
        while let tag = rest.popFirst() {
            guard rest.count >= 8 else { return nil }
            let number = rest.prefix(8).reduce(Int64(0)) { $0 << 8 | Int64($1) }
            rest = rest.dropFirst(8)
            if tag == 1 {
                values.append(.integer(number))
                continue
            }
            guard tag == 2 || tag == 3, number >= 0, rest.count >= number else { return nil }
            let data = Array(rest.prefix(Int(number)))
            rest = rest.dropFirst(Int(number))
            values.append(tag == 2 ? .text(String(decoding: data, as: UTF8.self)) : .bytes(data))
        }
        self.init(values)
    }
}
