package import Simulator

/// Builds bodies of verifyReceipt requests.
package enum Question {
    package static func body(
        _ receipt: String, password: String? = nil, _ further: KeyValuePairs<String, JSONValue?> = [:]
    ) -> [UInt8] {
        var members = [JSONValue.Member("receipt-data", .string(receipt))]
        if let password { members.append(.init("password", .string(password))) }
        members += further.compactMap { key, value in value.map { JSONValue.Member(key, $0) } }
        return JSONValue.object(members).bytes
    }
}
