import Foundation
import GRDB

/// The column value of a JWS.
enum EncodedJWS: Sendable, Hashable {
    /// The text as received: all JWS of earlier versions, and those that cannot be packed.
    case raw(String)
    case packed(PackedJWS)
    /// A value of neither form, because the file was damaged.
    case damaged
}

extension EncodedJWS: DatabaseValueConvertible {
    /// TEXT for a raw JWS, BLOB for a packed one. SQLite stores a BLOB unchanged, also in a TEXT column.
    var databaseValue: DatabaseValue {
        switch self {
        case .raw(let text): text.databaseValue
        case .packed(let text): text.bytes.databaseValue
        case .damaged: .null
        }
    }

    static func fromDatabaseValue(_ value: DatabaseValue) -> EncodedJWS? {
        switch value.storage {
        case .null: nil
        case .string(let text): .raw(text)
        case .blob(let bytes): PackedJWS(bytes).map { .packed($0) } ?? .damaged
        default: .damaged
        }
    }
}
