import Base
import Foundation
import PostgreSQLClient
import Storage

extension PostgreSQLRow {
    /// Returns a time in milliseconds.
    func timestamp(_ column: Int) throws(PostgreSQLError) -> Timestamp {
        Timestamp(milliseconds: try integer(column))
    }
}

extension PostgreSQLValue {
    /// A time in milliseconds, or `null`.
    init(_ time: Timestamp?) { self.init(time?.milliseconds) }
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
