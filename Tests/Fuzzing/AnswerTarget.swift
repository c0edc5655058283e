@testable import AppStoreClients
import AppStorePayloads
import Base
import Comparison
@testable import Notifications
import Responses
import VerifyReceipt

/// Fuzzes the parsers of Apple's responses and notifications.
enum AnswerTarget {
    private static let converter = DocumentConverter(tables: .bundled)

    static func run(_ bytes: [UInt8]) {
        _ = try? VerifyReceiptStatusReader.scan(bytes)
        if let object = try? JSONObject(bytes) {
            var claims = ClaimReader(object)
            _ = try? HistoryPage(&claims)
            _ = try? StatusResponse(&claims)
            _ = try? ExtensionResult(&claims)
            _ = try? MassExtensionStatus(&claims)
            _ = try? NotificationPage(&claims)
        }
        if let response = try? VerifyReceiptResponse(bytes) {
            require(
                response.revocationStates.count <= response.purchases.count, "each purchase has at most one state")
            _ = (response.renewals, response.lookupKeys, response.bundleId, response.environment)
        }
        _ = try? ComparedAnswer(verifyReceipt: bytes)
        _ = try? ComparedAnswer(RecordedRecords(history: [bytes], statuses: bytes))
        if let camelCase = try? converter.camelCase(bytes) {
            Rendered.isJSON(camelCase)
            if let snakeCase = try? converter.snakeCase(camelCase) { Rendered.isJSON(snakeCase) }
        }
        if case .version1(let body)? = try? NotificationBody(bytes) { hasNoPassword(body.redacted) }
    }

    /// Checks that every member `password` was replaced by `***`.
    private static func hasNoPassword(_ text: String) {
        let bytes = Array(text.utf8)
        var scanner = JSONScanner()
        let isObject: Void? = try? scanner.scanDocument(bytes.span) { member in
            guard member.name.matches("password", in: bytes.span) else { return }
            require(
                bytes.span.holds("\"***\"", at: member.value.whole), "the redacted version 1 body contains no password")
        }
        require(isObject != nil, "the redacted version 1 body is JSON")
    }
}
