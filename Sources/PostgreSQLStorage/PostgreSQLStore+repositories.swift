package import Storage

extension PostgreSQLStore: Store {
    package var customers: any CustomerStore { self }
    package var notifications: any NotificationStore { self }
    package var outbox: any DeliveryOutbox { self }
    package var revocations: any RevocationStore { self }
    package var refunds: any RefundStore { self }
    package var archive: any ResponseArchiveStore { self }
    package var comparisons: any ComparisonLog { self }
    package var extensions: any ExtensionLog { self }
    package var orders: any OrderLog { self }
    package var consumption: any ConsumptionCaseStore { self }
    package var personalData: any PersonalDataStore { self }
    package var events: any EventStore { self }
    package var handles: any BridgeHandleStore { self }
    package var presenters: any PresenterStore { self }
    package var leases: any LeaseStore { self }
    package var rollouts: any RolloutStore { self }
    package var reconciliations: any ReconciliationStore { self }
    package var cluster: (any ClusterStore)? { self }
    package var maintenance: (any StoreMaintenance)? { nil }
}
