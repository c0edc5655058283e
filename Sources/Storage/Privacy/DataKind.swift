/// The kinds of data in a store: how long each is kept, and what an erasure does with it. The raw value names the kind
/// in the result of an erasure.
///
/// ``StoreTable`` assigns the tables to these kinds. Retention, erasure and the footprint of a customer follow this
/// table.
package enum DataKind: String, Sendable, CaseIterable {
    case notifications, deliveries, bodies
    case transactions, supersededTransactions, subscriptions, companions, customers, revocations
    case refunds, consumptionCases
    case learntIdentifiers, lastGoodAnswers
    case comparisonExamples, comparedCustomers, comparisons, differences
    case apps, targets, signers, erasures
    case presenters, leases
    case changes, lookups, callBuckets, servers
    case rollouts
    case events
    case reconciliations
    case imports, importedRows, importCustomers
    /// What the engine needs for itself. It has no values from outside.
    case internals

    /// When data of a kind expires.
    package enum Lifetime: Sendable {
        /// After the configured number of days. The name stands for the kind in the result of a retention run.
        case period(String, days: @Sendable (Retention) -> Int64?)
        /// With the data of another kind that it belongs to.
        case sameAs(DataKind)
        /// By the limits of the response archive, see ``ResponseArchiveStore/deleteArchivedResponses(before:downTo:)``.
        case archiveLimits
        /// After minutes, because it is of use only to running servers.
        case minutes
        case unlimited
    }

    /// What an erasure of a customer does with the data.
    package enum ErasurePolicy: Sendable, Hashable {
        case deleted
        /// Deletes the customer's rows, or keeps only ids and dates if ``ErasureRequest/keepsRevocations`` is set.
        case reducedOnRequest
        /// Nothing: the data identifies no customer, for the reason given.
        case exempt(String)
    }

    package var lifetime: Lifetime { policy.lifetime }
    package var erasure: ErasurePolicy { policy.erasure }

    private var policy: (lifetime: Lifetime, erasure: ErasurePolicy) {
        switch self {
        case .notifications: (.period("notifications", days: \.notifications), .deleted)
        case .deliveries: (.period("forwardedDeliveries", days: \.forwardedDeliveries), .deleted)
        case .bodies: (.sameAs(.notifications), .deleted)
        case .transactions: (.period("transactions", days: \.customers), .deleted)
        case .supersededTransactions: (.period("superseded", days: \.superseded), .deleted)
        case .subscriptions: (.sameAs(.transactions), .deleted)
        case .companions: (.sameAs(.customers), .deleted)
        case .customers: (.period("customers", days: \.customers), .deleted)
        case .revocations: (.unlimited, .reducedOnRequest)
        case .refunds: (.period("refunds", days: \.refunds), .deleted)
        case .consumptionCases: (.sameAs(.notifications), .deleted)
        case .learntIdentifiers: (.period("learntIdentifiers", days: \.learntIdentifiers), .deleted)
        case .lastGoodAnswers: (.archiveLimits, .deleted)
        case .comparisonExamples: (.sameAs(.differences), .deleted)
        case .comparedCustomers: (.period("comparisons", days: \.comparisons), .deleted)
        case .comparisons: (.period("comparisons", days: \.comparisons), .exempt("counts"))
        case .differences:
            (.period("comparisons", days: \.comparisons), .exempt("counts; the examples are erased"))
        case .apps: (.unlimited, .exempt("a bundle id and an environment"))
        case .targets: (.unlimited, .exempt("where notifications are forwarded to"))
        case .signers: (.unlimited, .exempt("certificates of the App Store's signers"))
        case .erasures:
            (.unlimited, .exempt("time and number of rows of each erasure, without identifiers"))
        case .events: (.period("events", days: \.events), .deleted)
        case .presenters: (.period("presenters", days: \.customers), .deleted)
        case .changes, .lookups: (.minutes, .exempt("ids of transactions, which expire within minutes"))
        case .callBuckets: (.unlimited, .exempt("counts of calls to Apple"))
        case .servers: (.minutes, .exempt("names of servers"))
        case .leases: (.unlimited, .exempt("names of tasks and processes"))
        case .rollouts: (.unlimited, .exempt("counts, and when a rollout stopped"))
        case .reconciliations: (.unlimited, .exempt("counts, and when a reconciliation began and ended"))
        case .imports: (.unlimited, .exempt("names of sources, counts, positions and leases"))
        case .importedRows: (.period("importedRows", days: \.customers), .deleted)
        case .importCustomers: (.period("importCustomers", days: \.customers), .deleted)
        case .internals: (.unlimited, .exempt("locks, times and random numbers of servers"))
        }
    }
}
