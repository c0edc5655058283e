package import ReceiptBridgeBase
package import ReceiptBridgeResponses
import ReceiptBridgeStorage

extension AppOperations {
    /// Maximum number of customers in a response. A token belongs to one user, who has few App Store accounts.
    private static let maximumCustomers = 20

    /// Returns the customers with an account token: `GET /v1/customers?appAccountToken=`.
    ///
    ///     { "customers": [ {…} ] }
    ///
    /// A customer whose complete history is in the store is read from there. If only notifications are known, the
    /// customer is looked up in the App Store.
    package func customers(
        withToken text: String?, _ view: CustomerViewService, _ target: OperationTarget
    ) async throws(OperationError) -> [UInt8] {
        let views = try await views(withToken: try accountToken(text), view, target)
        return JSONWriter.object { writer in
            writer.array("customers", views) { $0.values(json: view.renderer.render($1)) }
        }
    }

    package func views(
        withToken token: AccountToken, _ view: CustomerViewService, _ target: OperationTarget
    ) async throws(OperationError) -> [CustomerView] {
        let environment = try target.namedEnvironment()
        let store = try requiredStore()
        return try await converting {
            let bundleId = target.bundleId == nil ? nil : try components.resolver.app(named: target.bundleId)
            let found = try await store.customers.customers(withToken: token.text, limit: Self.maximumCustomers)
            var views: [CustomerView] = []
            for customer in found
            where bundleId ?? customer.scope.bundleId == customer.scope.bundleId
                && environment ?? customer.scope.environment == customer.scope.environment
                && components.apps.configured(customer.scope.bundleId) != nil
            {
                views.append(try await view.view(stored: customer.identifier, in: customer.scope))
            }
            return views
        }
    }
}
