package import AppStoreTypes

/// Apple's requests for consumption information. A stored notification `CONSUMPTION_REQUEST` is a case by itself, so none
/// is missing; what became of it is stored separately.
package protocol ConsumptionCaseStore: Sendable {
    /// Returns cases in the order of arrival.
    ///
    /// - Parameter id: the last id of the previous page; 0 for the first page.
    func consumptionCases(
        _ filter: ConsumptionCaseFilter, after id: Int64, limit: Int
    ) async throws(StorageError) -> [ConsumptionCase]

    /// Returns the cases of a purchase and its renewals in the order of arrival.
    func consumptionCases(
        about originalTransactionId: String, in scope: AppScope
    ) async throws(StorageError) -> [ConsumptionCase]

    /// Records that consumption information was sent. The first time counts.
    func markAnswered(_ uuid: String, at now: Timestamp) async throws(StorageError)

    /// Stores the decision of a case, unless it has another decision than `previous` by now.
    func settle(
        _ id: Int64, as decision: RefundDecision, replacing previous: RefundDecision?, at now: Timestamp
    ) async throws(StorageError)

    /// Returns the requests since a time that were neither answered nor settled, by app and environment.
    func openConsumptionRequests(since time: Timestamp) async throws(StorageError) -> [OpenConsumptionRequests]
}
