import ReceiptBridgeAppStore
import ReceiptBridgeReceipts
import ReceiptBridgeBase
import Foundation
import ReceiptBridgeCore
import ReceiptBridgeComparison
import ReceiptBridgeResponses

/// Looks up what a support person entered.
struct CustomerPageLookup: Sendable {
    /// The content of the page, and what the log says about it.
    struct PageResult: Sendable {
        let content: CustomerPage.Content
        /// HTTP status of the page.
        let status: Int
        /// `shown`, or the code of the error.
        let code: String
        /// Number of customers on the page.
        let customers: Int
    }

    let views: CustomerViewService
    let operations: AppOperations
    /// The chosen app; `nil` if the form has no choice.
    let bundleId: String?

    func answer(_ question: CustomerQuestion) async -> PageResult {
        do throws(OperationError) {
            switch question {
            case .transactionId(let id): return shown([try await views.view(transactionId: id, bundleId: bundleId)])
            case .orderId(let id): return try await answer(orderId: id)
            case .accountToken(let token):
                let found = try await operations.views(withToken: token, views, target)
                return found.isEmpty ? failed(.unknownToken, status: 404) : shown(found)
            case .receipt(let bytes): return shown([try await views.view(receiptText: bytes)])
            case .signedText(let text):
                // As `POST /v1/receipts` does with a signed text.
                let trimmed = text.trimmingCharacters(in: .whitespacesAndNewlines)
                return shown([try await views.view(signed: trimmed, bundleId: bundleId)])
            }
        } catch {
            return failed(CustomerProblem(error), status: error.code.httpStatus)
        }
    }

    /// Shows the customer who owns the first purchase of an order.
    private func answer(orderId: String) async throws(OperationError) -> PageResult {
        let report = try await operations.orderReport(orderId, target)
        guard let id = report.order.transactions.first?.payload.transactionId else {
            throw OperationError(.transactionNotFound, "there is no such order, or it has no purchase of this app")
        }
        return shown(
            [try await views.view(transactionId: id, bundleId: bundleId)],
            CustomerOrder(purchases: report.order.transactions.count))
    }

    private var target: OperationTarget { OperationTarget(bundleId: bundleId, environment: nil) }

    private func shown(_ views: [CustomerView], _ order: CustomerOrder? = nil) -> PageResult {
        let customers = views.map { CustomerDocument($0, self.views.renderer) }
        return PageResult(
            content: .customers(customers, order: order), status: 200, code: "shown", customers: customers.count)
    }

    private func failed(_ problem: CustomerProblem, status: Int) -> PageResult {
        PageResult(content: .problem(problem), status: status, code: problem.code, customers: 0)
    }
}
