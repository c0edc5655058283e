import Base

/// An error of the Server API with Apple's error code. Its first three digits are the HTTP status: 4040010 has status
/// 404.
package struct APIFailure: Error, Sendable, Hashable {
    package let code: Int64
    /// Value of `Retry-After`: UNIX time in milliseconds.
    package var retryAfter: String?

    package init(_ code: Int64, retryAfter: String? = nil) {
        self.code = code
        self.retryAfter = retryAfter
    }

    /// The error as a response.
    package var answer: APIAnswer {
        APIAnswer(
            Int(clamping: code / 10_000), headers: retryAfter.map { [("Retry-After", $0)] } ?? [],
            body: .object([
                "errorCode": .number(code), "errorMessage": .string(Self.messages[code] ?? "General bad request."),
            ]))
    }

    private static let messages: [Int64: String] = [
        4_000_002: "Invalid request app id.",
        4_000_005: "Invalid request revision.",
        4_000_006: "Invalid transaction id.",
        4_000_008: "Invalid original transaction id.",
        4_000_009: "Invalid extend by days value.",
        4_000_010: "Invalid extend reason code.",
        4_000_011: "Invalid request identifier.",
        4_000_012: "The start date is too far back.",
        4_000_013: "The start date is after the end date.",
        4_000_014: "Invalid pagination token.",
        4_000_015: "Invalid start date.",
        4_000_016: "Invalid end date.",
        4_000_017: "The pagination token has expired.",
        4_000_018: "Invalid notification type.",
        4_000_019: "Request either by transaction id or by notification type.",
        4_000_020: "Invalid test notification token.",
        4_000_021: "Invalid sort.",
        4_000_022: "Invalid product type.",
        4_000_023: "Invalid product id.",
        4_000_024: "Invalid subscription group identifier.",
        4_000_025: "Invalid exclude revoked.",
        4_000_026: "Invalid in-app ownership type.",
        4_000_027: "The storefront country code list is empty.",
        4_000_028: "Invalid storefront country code.",
        4_000_030: "Invalid revoked.",
        4_000_031: "Invalid status.",
        4_000_048: "This endpoint does not take an app transaction id.",
        4_000_183: "The app account token is not a UUID.",
        4_000_185: "Family transactions are not supported.",
        4_000_187: "The transaction id is not an original transaction id.",
        4_030_004: "The subscription cannot be extended.",
        4_030_005: "The subscription has had its maximum of extensions.",
        4_030_007: "Family-shared subscriptions cannot be extended.",
        4_040_001: "Account not found.",
        4_040_002: "Account not found. Please try again.",
        4_040_003: "App not found.",
        4_040_004: "App not found. Please try again.",
        4_040_005: "Original transaction id not found.",
        4_040_006: "Original transaction id not found. Please try again.",
        4_040_007: "The server notification URL is missing.",
        4_040_008: "Test notification not found.",
        4_040_009: "Status request not found.",
        4_040_010: "Transaction id not found.",
        4_040_019: "App transaction does not exist.",
        4_290_000: "Rate limit exceeded.",
        5_000_000: "An unknown error occurred.",
        5_000_001: "An unknown error occurred. Please try again.",
    ]
}

extension APIFailure {
    /// Checks an identifier: 1 to 20 digits, not all of them zero. Throws `code` otherwise, because it depends on the
    /// endpoint.
    static func checkIdentifier(_ text: String, code: Int64 = 4_000_006) throws(APIFailure) {
        guard TransactionIdentifier(rawValue: text) != nil else { throw APIFailure(code) }
    }
}
