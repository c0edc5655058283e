import Foundation
import GRDB

/// What stands in a column for a signed text.
enum StoredText: Sendable, Hashable {
    /// As it came: all texts of former versions, and those that cannot be packed.
    case raw(String)
    /// A ``PackedText``.
    case packed(Data)
    /// The number of a row of `notificationPart`, which has it.
    case part(Int64)
}

extension StoredText: DatabaseValueConvertible {
    private static let partMark: UInt8 = 2

    /// TEXT as it came; else a BLOB that begins with what it is. In columns of TEXT a BLOB stays one.
    var databaseValue: DatabaseValue {
        switch self {
        case .raw(let text): text.databaseValue
        case .packed(let bytes): bytes.databaseValue
        case .part(let number):
            withUnsafeBytes(of: number.bigEndian) { Data([Self.partMark]) + Data($0) }.databaseValue
        }
    }

    static func fromDatabaseValue(_ value: DatabaseValue) -> StoredText? {
        switch value.storage {
        case .string(let text): .raw(text)
        case .blob(let bytes) where bytes.first == partMark && bytes.count == 9:
            .part(bytes.dropFirst().reduce(0) { $0 << 8 | Int64($1) })
        // What is none fails where it is unpacked.
        case .blob(let bytes): .packed(bytes)
        default: nil
        }
    }
}
