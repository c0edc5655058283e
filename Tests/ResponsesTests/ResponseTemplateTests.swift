import ReceiptBridgeBase
import ReceiptBridgeResponses
import Testing

@Suite("Cached response served again")
struct ResponseTemplateTests {
    private static let before = Timestamp(milliseconds: 1_795_262_400_123)

    private func answer(_ date: Timestamp, more: String = "") -> Answer {
        let triplet = DateTriplet(date)
        let text = """
            {"environment":"Production","receipt":{"receipt_type":"Production",\(more)"request_date":"\(triplet.text)",\
            "request_date_ms":"\(triplet.milliseconds)","request_date_pst":"\(triplet.losAngelesText)","in_app":[]},"status":0}
            """
        return Answer(status: .valid, body: Array(text.utf8))
    }

    @Test(
        "The response is the same except for the time of the request",
        arguments: [0, 1, 999, 86_400_000, 200 * 86_400_000 as Int64])
    func dates(later: Int64) throws {
        let dated = try #require(ResponseTemplate(answer(Self.before), requestDate: Self.before))
        let now = Self.before.advanced(by: .milliseconds(later))
        #expect(dated.answer(requestDate: now) == answer(now))
        #expect(dated.answer(requestDate: Self.before) == answer(Self.before))
    }

    @Test("A response needs the time of its request, and the time must have thirteen digits")
    func limits() throws {
        let flat = Answer(status: .valid, body: Array("{\"receipt\":{},\"status\":0}".utf8))
        #expect(ResponseTemplate(flat, requestDate: Self.before) == nil)
        #expect(ResponseTemplate(answer(Self.before), requestDate: Self.before.advanced(by: .milliseconds(1))) == nil)
        let early = Timestamp(milliseconds: 999_999_999_999)
        #expect(ResponseTemplate(answer(early), requestDate: early) == nil)
        let dated = try #require(ResponseTemplate(answer(Self.before), requestDate: Self.before))
        #expect(dated.answer(requestDate: early) == nil)
    }

    @Test("Text that looks like the dates is not replaced")
    func foreign() throws {
        let triplet = DateTriplet(Self.before)
        let more = #""application_version":"\"request_date\":\"\#(triplet.text)\"","#
        let dated = try #require(ResponseTemplate(answer(Self.before, more: more), requestDate: Self.before))
        let now = Self.before.advanced(by: .seconds(5))
        #expect(dated.answer(requestDate: now) == answer(now, more: more))
    }
}
