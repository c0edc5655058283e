import ReceiptBridgeBase
import ReceiptBridgeResponses
import Testing

@Suite("Error responses")
struct VerifyReceiptAnswerTests {
    @Test(
        "Most error responses contain only the status",
        arguments: [
            (VerifyReceiptStatus.notPost, #"{"status":21000}"#), (.malformedReceipt, #"{"status":21002}"#),
            (.notAuthentic, #"{"status":21003}"#), (.sandboxReceipt, #"{"status":21007}"#),
            (.productionReceipt, #"{"status":21008}"#), (.internalDataAccess, #"{"status":21009}"#),
        ])
    func bare(status: VerifyReceiptStatus, body: String) {
        let answer = Answer.failure(status)
        #expect(answer.status == status)
        #expect(text(answer.body) == body)
    }

    @Test("The response to a wrong shared secret has the environment first, as in Apple's body")
    func wrongSharedSecret() {
        #expect(
            text(Answer.wrongSharedSecret(environment: .production).body)
                == #"{"environment":"Production","status":21004}"#)
        #expect(
            text(Answer.wrongSharedSecret(environment: .sandbox).body)
                == #"{"environment":"Sandbox","status":21004}"#)
    }

    @Test("A 21005 of ours has both spellings of is_retryable, also with another number, and differs from Apple's")
    func temporarilyUnavailable() {
        let outage = Answer.temporarilyUnavailable()
        #expect(text(outage.body) == #"{"status":21005,"is_retryable":true,"is-retryable":true}"#)
        #expect(outage.status == .temporarilyUnavailable && outage.isOwnOutage)
        let other = Answer.temporarilyUnavailable(as: VerifyReceiptStatus(rawValue: 21150))
        #expect(text(other.body) == #"{"status":21150,"is_retryable":true,"is-retryable":true}"#)
        let apples = Answer(status: .temporarilyUnavailable, body: outage.body)
        #expect(!apples.isOwnOutage && !Answer.failure(.temporarilyUnavailable).isOwnOutage)
    }

    @Test("The response for a deleted account is not retryable")
    func accountNotFound() {
        #expect(
            text(Answer.accountNotFound(environment: .production).body)
                == #"{"environment":"Production","status":21010,"is_retryable":false}"#)
    }

    @Test("The statuses 21009 and 21100 to 21199 are internal errors of the App Store")
    func internalDataAccess() {
        let numbers = [0, 21008, 21009, 21010, 21099, 21100, 21199, 21200]
        #expect(numbers.filter { VerifyReceiptStatus(rawValue: $0).isInternalDataAccess } == [21009, 21100, 21199])
    }
}
