import ReceiptBridgeAdministration
import ArgumentParser
import ReceiptBridgeBase
import ReceiptBridgeCore
import ReceiptBridgeComparison
import ReceiptBridgeStorage

/// The configured store, in which looked-up customers are saved, so that servers answer them without a call.
extension MigrateCommand {
    /// Runs `body` with the configured store; with `nil` if there is none, or if nothing is to be saved.
    ///
    /// - Parameter limits: The store with the shared rate limits, if it is open.
    func withFilledStore(
        _ settings: ProxyConfiguration, _ limits: (any Store)?, _ body: ((any Store)?) async throws -> Void
    ) async throws {
        guard let address = settings.store, !noStore, !plan else { return try await body(nil) }
        if case .postgresql = address, let limits { return try await body(limits) }
        let store: any Store
        do throws(StorageError) {
            store = try await StoreOpening.open(address, settings.database, recordsEvents: settings.recordsEvents)
        } catch {
            Terminal.say("\(error)", hint: "--no-store does not save customers in the store", as: .bad)
            throw ExitCode.usage
        }
        let result = await Result { try await body(store) }
        await store.close()
        try result.get()
    }

    func reportStored(in store: any Store, _ settings: ProxyConfiguration) async {
        do throws(StorageError) {
            let customers = try await store.customers.countOfCompleteCustomers()
            let answersFromStore = settings.apps.contains { $0.answer.contains(.stored) }
            Terminal.inform(
                "\(customers.grouped) customers are in the store, which a server answers without Apple",
                hint: answersFromStore ? nil : "answer: [stored, …] in the configuration uses them")
        } catch {
            Terminal.say("\(error)", as: .warning)
        }
    }
}
