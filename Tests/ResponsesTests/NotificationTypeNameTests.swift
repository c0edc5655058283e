import ReceiptBridgeReceipts
import ReceiptBridgeResponses
import Testing

@Suite("Names of notification types")
struct NotificationTypeNameTests {
    @Test("A misspelling is named with the type that may be meant; a new type is none")
    func misspellings() {
        let sentence = "DID_RENWE is not a type of Apple's. Did you mean DID_RENEW?"
        #expect(NotificationType.misspelling("DID_RENWE") == sentence)
        #expect(NotificationType.misspelling("refund") == "refund is not a type of Apple's. Did you mean REFUND?")
        for name in ["DID_RENEW", "DID_RECOVER", "SOMETHING_NEW", ""] {
            #expect(NotificationType.misspelling(name) == nil)
        }
        #expect(NotificationType.unknown("X") == "X is not a type of Apple's")
    }
}
