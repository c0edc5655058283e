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

    /// Records that consumption information was sent. The first time counts.
    func markAnswered(_ uuid: String, at now: Timestamp) async throws(StorageError)

    /// Stores the decision of a case. The first one counts.
    func settle(_ id: Int64, as decision: RefundDecision, at now: Timestamp) async throws(StorageError)

    /// Returns the requests since a time that were not answered, by app and environment.
    func openConsumptionRequests(since time: Timestamp) async throws(StorageError) -> [OpenConsumptionRequests]
}
