import Hummingbird

/// A server with one minimal route: it reads a JSON body with one string in it and responds with a small object. Its
/// cost is the baseline for benchmarks of the proxy, because no route of this framework can be cheaper.
package enum BaselineRoute {
    /// The request body of verifyReceipt, a notification or `POST /v1/receipts`, of which only one string is read.
    private struct Question: Decodable {
        let text: String

        enum CodingKeys: String, CodingKey {
            case receiptData = "receipt-data"
            case signedPayload
        }

        init(from decoder: any Decoder) throws {
            let values = try decoder.container(keyedBy: CodingKeys.self)
            text =
                try values.decodeIfPresent(String.self, forKey: .receiptData)
                ?? values.decode(String.self, forKey: .signedPayload)
        }
    }

    private struct Answer: ResponseEncodable {
        let status: Int
        let length: Int
    }

    /// - Parameter port: 0 lets the system choose one.
    package static func run(port: Int) async throws {
        let router = Router()
        router.post("/bare") { request, context in
            var request = request
            _ = try await request.collectBody(upTo: VerifyReceiptController.maximumBodyBytes)
            let question = try await request.decode(as: Question.self, context: context)
            return Answer(status: 0, length: question.text.utf8.count)
        }
        try await Application(
            router: router, configuration: .init(address: .hostname("127.0.0.1", port: port), backlog: 1024)
        ).runService()
    }
}
