package import Hummingbird

/// What a route costs that does next to nothing: reads a JSON body with one text in it and answers a small object. The
/// measure for all that this server does.
package enum BaselineRoute {
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

    /// `POST /bare`
    package static func application(port: Int) -> some ApplicationProtocol {
        let router = Router()
        router.post("/bare") { request, context in
            var request = request
            _ = try await request.collectBody(upTo: VerifyReceiptController.maximumBodyBytes)
            let question = try await request.decode(as: Question.self, context: context)
            return Answer(status: 0, length: question.text.utf8.count)
        }
        return Application(
            router: router, configuration: .init(address: .hostname("127.0.0.1", port: port), backlog: 1024))
    }
}
