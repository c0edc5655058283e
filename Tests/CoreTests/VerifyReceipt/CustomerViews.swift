import ReceiptBridgeBase
import ReceiptBridgeCore
import ReceiptBridgeResponses
import ReceiptBridgeServer
import ReceiptBridgeSimulator
import Testing
import ReceiptBridgeTestSupport
import ReceiptBridgeTransport

/// The customer view service in front of a simulated Server API.
struct CustomerViews {
    let store: SimulatedStore
    let pipeline: CustomerViewService

    /// Removes the app's key, so that only receipts can answer.
    static let noKey = { @Sendable (_: inout ProxyConfiguration, app: inout AppConfiguration) in app.serverAPI = nil }

    /// Runs the body, then stops everything that it needed.
    static func serving<Value>(
        customers: Int = 36, options: WorldOptions = .init(),
        _ change: (inout ProxyConfiguration, inout AppConfiguration) -> Void = { _, _ in },
        _ work: (CustomerViews) async throws -> Value
    ) async throws -> Value {
        try await ServerAPIWorld.asking(customers: customers, options: options) { store, world in
            try await work(CustomerViews(store: store, pipeline: world.graph(changing: change).customerView))
        }
    }

    // MARK: - Requests

    func json(_ view: CustomerView) throws -> JSONValue { try JSONValue(reading: pipeline.renderer.render(view)) }

    func ask(receipt: String) async throws -> JSONValue {
        try json(await pipeline.view(body: body("receiptData", receipt)))
    }

    func ask(signedTransaction text: String) async throws -> JSONValue {
        try json(await pipeline.view(body: body("signedTransaction", text)))
    }

    func ask(signedAppTransaction text: String) async throws -> JSONValue {
        try json(await pipeline.view(body: body("signedAppTransaction", text)))
    }

    func ask(signedRenewalInfo text: String, bundleId: String? = nil) async throws -> JSONValue {
        let members = [("signedRenewalInfo", text)] + (bundleId.map { [("bundleId", $0)] } ?? [])
        let object = JSONValue.object(members.map { JSONValue.Member($0.0, .string($0.1)) })
        return try json(await pipeline.view(body: object.bytes))
    }

    func ask(id: String, bundleId: String? = nil) async throws -> JSONValue {
        try json(await pipeline.view(transactionId: id, bundleId: bundleId))
    }

    /// The HTTP status and the code of the error, for example `404 transactionNotFound`; `nil` if there is a view.
    func failure(_ question: (CustomerViews) async throws -> some Any) async -> String? {
        do {
            _ = try await question(self)
            return nil
        } catch let error as OperationError {
            return "\(error.code.httpStatus) \(error.code.rawValue)"
        } catch {
            return "\(error)"
        }
    }

    func body(_ key: String, _ text: String) -> [UInt8] {
        JSONValue.object([JSONValue.Member(key, .string(text))]).bytes
    }

    /// The renewal of a subscription, signed as the App Store signs it.
    func signed(renewalOf original: String, environment: String? = "Production") throws -> String {
        try store.pki.jwsSigner.jws(
            payload: .object([
                "originalTransactionId": .string(original), "autoRenewStatus": .number(1),
                "environment": environment.map(JSONValue.string),
                "signedDate": .number(SharedSimulator.noon.milliseconds),
            ]))
    }

    /// A transaction, signed as the App Store signs it.
    func signed(_ transaction: SimulatedTransaction, bundleId: String = SimulatedApp.first.bundleId) throws -> String {
        try store.pki.jwsSigner.jws(
            payload: transaction.row(.production, signedDate: SharedSimulator.noon, bundleId: bundleId))
    }
}
