import Foundation
import GRDB

/// What stands in a column for a signed text.
enum EncodedJWS: Sendable, Hashable {
    /// As it came: all texts of former versions, and those that cannot be packed.
    case raw(String)
    case packed(PackedJWS)
    /// Bytes that are none of these: the file was damaged.
    case damaged
}

extension EncodedJWS: DatabaseValueConvertible {
    /// TEXT as it came, or a BLOB: in columns of TEXT a BLOB stays one.
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
