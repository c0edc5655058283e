import ReceiptBridgeAdministration
import ArgumentParser
import ReceiptBridgeBase
import ReceiptBridgeCore
import Foundation
import ReceiptBridgeStorage

/// The `forget` command: erases a customer from the store, whether a server is running or not.
struct ForgetCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "forget",
        abstract: "Erases one customer from the store.",
        discussion: """
            Erases all data of the customer in the store: records, notifications, deliveries, refunds. Prints one line of \
            JSON with the number of erased rows of each kind, the rows that were kept and why, and the places outside the \
            store. A running server clears its in-memory caches within 10 seconds.

            Then the store file is rewritten, so that no remains of erased rows are left in it. That temporarily needs as \
            much disk space again, and a running server cannot write to the store in the meantime. --no-rewrite skips it; \
            --rewrite without a customer does it later.

            Exit codes: 0 erased; 1 the store has no data of that customer; 2 usage, configuration; 3 the store \
            failed (run the command again), or the file could not be rewritten after the erasure (run forget --rewrite).

            Example:
              receipt-bridge forget --original-transaction-id 730000000240001 \\
                  --dry-run --config receipt-bridge.yaml
            """)

    @OptionGroup(title: "Configuration") var configuration: ConfigurationOptions
    @OptionGroup var output: JSONOption
    @Option(
        help: ArgumentHelp("The customer who owns this transaction (original or renewal).", valueName: "transaction-id")
    )
    var originalTransactionId: String?
    @Option(help: ArgumentHelp("The customers with this account token in a record.", valueName: "uuid"))
    var appAccountToken: String?
    @Option(help: ArgumentHelp("Only customers of this app.", valueName: "bundle-id"))
    var bundleId: String?
    @Option(help: ArgumentHelp("Only customers in this environment of the App Store.", valueName: "environment"))
    var environment: EnvironmentName?
    @Flag(
        help:
            "Delete data of all customers that is older than `retention` in the configuration, as a running server does."
    )
    var expired = false
    @Flag(help: "With --expired: delete although the clock is far ahead of the newest stored record.")
    var trustClock = false
    @Flag(help: "Keep id and date of refunded purchases, so that they are not honored again.")
    var keepRevocations = false
    @Flag(help: "Print the counts without erasing anything.")
    var dryRun = false
    @Flag(inversion: .prefixedNo, help: "Rewrite the file, so that no remains of erased rows are left in it.")
    var rewrite: Bool?

    func validate() throws {
        switch (originalTransactionId, appAccountToken) {
        case (let id?, nil):
            guard TransactionIdentifier(rawValue: id) != nil else {
                throw ValidationError("--original-transaction-id: 1 to 20 digits, not all of them 0")
            }
        case (nil, let token?):
            guard AccountToken(token) != nil else { throw ValidationError("--app-account-token: must be a UUID") }
        case (nil, nil) where expired || rewrite == true:
            guard bundleId == nil, environment == nil, !keepRevocations else {
                throw ValidationError("--bundle-id, --environment and --keep-revocations need a customer")
            }
        default: throw ValidationError("specify either --original-transaction-id or --app-account-token")
        }
        guard expired || !trustClock else { throw ValidationError("--trust-clock needs --expired") }
        guard subject == nil || !expired else {
            throw ValidationError("--expired concerns all customers and cannot be combined with one")
        }
    }

    /// The customer to erase; `nil` if the command only rewrites the file or deletes expired data.
    private var subject: ErasureSubject? {
        if let id = originalTransactionId.flatMap(TransactionIdentifier.init(rawValue:)) { return .transaction(id) }
        return appAccountToken.flatMap { AccountToken($0) }.flatMap { UUID(uuidString: $0.text) }.map {
            .accountToken($0)
        }
    }

    func run() async throws {
        if expired { return try await deleteExpired() }
        let apps = AppRegistry(settings: try ConfigurationOptions.reporting { try configuration.settings() })
        let (erasure, isRewritten, reason) = try await configuration.withStore {
            store throws(StorageError) -> (Erasure?, Bool, InvalidOperation?) in
            if let unknown = try await apps.unknown(bundleId, in: store) { return (nil, false, unknown) }
            let erasure = try await erase(from: store)
            let reason = erasure?.isEmpty == true ? try await absence(from: store) : nil
            guard !dryRun, rewrite ?? true, erasure?.isEmpty != true else { return (erasure, false, reason) }
            return (erasure, await compact(store), reason)
        }
        if erasure == nil, let reason { throw OperationFailure.exit(for: reason) }
        if let erasure {
            Terminal.line(ErasureAnswer.line(erasure, isDryRun: dryRun, isRewritten: isRewritten))
            guard !erasure.isEmpty else {
                Terminal.say(reason?.reason ?? "the store has no data of that customer", hint: reason?.hint)
                throw ExitCode.someNotVerified
            }
        }
        if !isRewritten, !dryRun, rewrite ?? true { throw ExitCode.limit }
    }

    /// Returns why nothing was erased: `--bundle-id` or `--environment` excludes all data of the customer, or there is
    /// none.
    private func absence(from store: any Store) async throws(StorageError) -> InvalidOperation? {
        guard let subject, bundleId != nil || environment != nil else { return nil }
        let all = try await store.personalData.footprint(of: ErasureRequest(subject))
        guard !all.isEmpty else { return nil }
        let places = all.scopes.map { "\($0.bundleId), \($0.environment.rawValue)" }.joined(separator: "; ")
        return InvalidOperation(
            "the store has no data of that customer in that app and environment, but in: \(places)",
            hint: "--bundle-id and --environment select what is erased")
    }

    /// Rewrites the file, and returns whether that succeeded. A failure is only printed, because the data is deleted
    /// already.
    private func compact(_ store: any Store) async -> Bool {
        do throws(StorageError) {
            try await store.compact()
            return true
        } catch {
            Terminal.say("the file was not rewritten: \(error)", hint: "run forget --rewrite to do that later")
            return false
        }
    }

    /// Deletes expired data now, instead of waiting for the server's next retention run.
    private func deleteExpired() async throws {
        let retention = try ConfigurationOptions.reporting { try configuration.settings().retention }
        let isToRewrite = rewrite == true && !dryRun
        let (deleted, isRewritten) = try await configuration.withStore { store throws(StorageError) in
            let data = store.personalData
            if !dryRun, !trustClock, let doubt = try await data.doubt(about: .now) {
                throw StorageError(
                    .changed, at: store.place, "the clock may be wrong: \(doubt). If it is right, add --trust-clock")
            }
            let deleted =
                try await dryRun
                ? data.expired(retention, at: .now) : data.expire(retention, at: .now) { _ in true }
            guard isToRewrite else { return (deleted, false) }
            return (deleted, await compact(store))
        }
        Terminal.line(ErasureAnswer.line(expired: deleted, isDryRun: dryRun, isRewritten: isRewritten))
        if isToRewrite, !isRewritten { throw ExitCode.limit }
    }

    /// Returns `nil` if the command only rewrites the file.
    private func erase(from store: any Store) async throws(StorageError) -> Erasure? {
        guard let subject else { return nil }
        let request = ErasureRequest(
            subject, bundleId: bundleId.flatMap(BundleIdentifier.init(rawValue:)),
            environment: environment?.environment, keepsRevocations: keepRevocations)
        if dryRun { return try await store.personalData.footprint(of: request) }
        return try await store.personalData.erase(request, at: .now)
    }
}
