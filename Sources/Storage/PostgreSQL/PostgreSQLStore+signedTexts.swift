import Foundation

/// The table of JWS headers, see ``JWSEncoder``.
extension PostgreSQLStore {
    /// Returns the original text; `nil` if its header, or one inside it, is not in the cache.
    func textOfKnownHeaders(_ stored: EncodedJWS) throws(StorageError) -> String? {
        struct UnknownHeader: Error {}
        switch stored {
        case .raw(let text): return text
        case .damaged: throw damaged("a stored JWS")
        case .packed(let packed):
            let bytes = try? packed.text { id in
                guard let header = headers.text(of: id) else { throw UnknownHeader() }
                return header
            }
            return bytes.map { String(decoding: $0, as: UTF8.self) }
        }
    }

    func loadHeaders() async throws {
        for row in try await client.query(SQLStatement("SELECT id, text FROM signedHeader")).rows {
            if let id = UInt16(exactly: try row.integer(0)) { headers.insert(id, try row.bytes(1)) }
        }
    }

    var damagedHeader: StorageError { damaged("the header of a stored JWS") }

    private func damaged(_ subject: String) -> StorageError {
        StorageError(.damaged, at: place, "\(subject) failed its integrity check")
    }
}

extension EncodedJWS {
    /// The first byte of a raw JWS. A packed one begins with the version of its format, which is never 0.
    private static let rawMarker: UInt8 = 0

    /// The value of a `bytea` column: ``rawMarker`` and the text as UTF-8, or the bytes of a ``PackedJWS``.
    var columnBytes: [UInt8] {
        switch self {
        case .raw(let text): [Self.rawMarker] + Array(text.utf8)
        case .packed(let packed): packed.encoded
        case .damaged: []
        }
    }

    init(column bytes: [UInt8]) {
        self =
            if bytes.first == Self.rawMarker {
                .raw(String(decoding: bytes.dropFirst(), as: UTF8.self))
            } else {
                PackedJWS(Data(bytes)).map { .packed($0) } ?? .damaged
            }
    }
}
