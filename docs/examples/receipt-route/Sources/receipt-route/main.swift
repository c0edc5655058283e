import AppStoreReceipts
import Foundation
import Hummingbird

/// The body of a verifyReceipt request.
struct VerifyReceiptRequest: Decodable {
    let receiptData: String

    enum CodingKeys: String, CodingKey { case receiptData = "receipt-data" }
}

// Arguments are files with the roots of a simulated App Store. Without any, Apple's are trusted.
let roots = try CommandLine.arguments.dropFirst().map { try Data(contentsOf: URL(filePath: $0)) }
let verifier = try SignedDataVerifier(bundleId: "com.example.app", rootCertificates: roots.isEmpty ? nil : roots)
let router = Router()
router.post("verifyReceipt") { request, context in
    let body = try await request.decode(as: VerifyReceiptRequest.self, context: context)
    let response: VerifyReceiptResponse
    do throws(VerificationError) {
        let receipt = try verifier.verifyAndDecodeReceipt(encodedReceipt: body.receiptData)
        response = receipt.verifyReceiptResponse(requestDate: .now)
    } catch {
        response = error.verifyReceiptResponse
    }
    return Response(
        status: .ok, headers: [.contentType: "application/json"],
        body: .init(byteBuffer: ByteBuffer(bytes: response.body)))
}
let port = Environment().get("PORT", as: Int.self) ?? 8080
try await Application(router: router, configuration: .init(address: .hostname("127.0.0.1", port: port))).runService()
