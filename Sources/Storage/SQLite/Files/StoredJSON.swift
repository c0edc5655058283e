import Foundation

/// JSON that a run stored, with counts and positions that it continues with.
package enum StoredJSON {
    /// A number is not in ``StoredNumber/integers``.
    struct DamagedNumber: Error {}

    /// Members whose numbers are only compared: the largest key of a table, and values of documents.
    private static let compared: Set<String> = ["size", "_0", "milliseconds"]

    /// Throws an error also for a number that no run has counted.
    package static func decode<Value: Decodable>(_ type: Value.Type, from json: [UInt8]) throws -> Value {
        let data = Data(json)
        guard hasCounts(try JSONSerialization.jsonObject(with: data, options: .fragmentsAllowed), of: "") else {
            throw DamagedNumber()
        }
        return try JSONDecoder().decode(type, from: data)
    }

    private static func hasCounts(_ value: Any, of name: String) -> Bool {
        switch value {
        case let object as [String: Any]: object.allSatisfy { hasCounts($1, of: $0) }
        case let list as [Any]: list.allSatisfy { hasCounts($0, of: name) }
        case let number as NSNumber:
            compared.contains(name) || number.doubleValue.magnitude <= Double(StoredNumber.integers.upperBound)
        default: true
        }
    }
}
