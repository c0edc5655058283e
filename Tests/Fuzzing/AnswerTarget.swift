@testable import ReceiptBridgeAppStore
import ReceiptBridgeReceipts
import ReceiptBridgeBase
import ReceiptBridgeComparison
@testable import ReceiptBridgeCore

/// Fuzzes the parsers of Apple's responses and notifications.
enum AnswerTarget {
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
        _ = try? ComparedAnswer(RecordedRecords(history: [bytes], statuses: bytes))
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
