/// The memories that hold data of customers and are not loaded from the store at the start: responses, records, the
/// users of purchases. Each has its own size and lifetime; an erasure clears all of them.
struct CustomerCaches: Sendable {
    /// `nil` if no app has responses that can be cached.
    let responses: ResponseCache?
    /// `nil` if there is no store.
    let storedCustomers: StoreSource?
    /// `nil` if there are no network connections.
    let serverAPI: ServerAPISource?
    /// `nil` if Apple's responses are not archived.
    let archive: ResponseArchive?
    let replays: ReplayDetector

    /// - Parameter responses: the cache of the verifyReceipt service.
    init(_ components: ServiceComponents, responses: ResponseCache?) {
        self.responses = responses
        storedCustomers = components.stored
        serverAPI = components.serverAPI
        archive = components.lastGood
        replays = components.replays
    }

    /// Forgets all customers.
    func removeAll() {
        responses?.removeAll()
        storedCustomers?.removeAll()
        serverAPI?.removeAll()
        archive?.removeAll()
        replays.removeAll()
    }
}
