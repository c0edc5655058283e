import ReceiptBridgeAppStore
import ReceiptBridgeReceipts
package import ReceiptBridgeBase
import ReceiptBridgeComparison
package import ReceiptBridgeCryptography
package import ReceiptBridgeCore

/// Compares one row of a source: a recorded pair, or a stored receipt whose data is requested from Apple.
package struct RowComparer: Sendable {
    struct RowOutcome: Sendable {
        /// App and environment that the outcome is counted under.
        var scope: ComparisonReport.Scope
        var result: Result<RowFinding, RowFailure>
    }

    private let reader: ReceiptReader
    private let verifier: SignedPayloadVerifier
    /// Has the response that the source `api` would return, which is compared too.
    private let verifyReceipt: BatchVerifyReceipt
    private let live: LiveComparison?
    private let overrides: [String: [String: RuleOverride]]
    private let now: @Sendable () -> Timestamp
    private let sleep: @Sendable (Duration) async -> Void

    /// Pause before both sides are requested again because of volatile differences.
    private static let pause = Duration.seconds(2)

    /// - Parameters:
    ///   - serverAPI: requests records from Apple. If `nil`, only recorded pairs are compared.
    ///   - overrides: overrides by bundle id, then by rule name.
    package init(
        trust: TrustStore, verifyReceipt: BatchVerifyReceipt, asking serverAPI: ServerAPISource? = nil,
        overrides: [String: [String: RuleOverride]] = [:],
        now: @escaping @Sendable () -> Timestamp = { .now },
        sleep: @escaping @Sendable (Duration) async -> Void = { try? await Task.sleep(for: $0) }
    ) {
        (reader, verifier) = (ReceiptReader(trust: trust), SignedPayloadVerifier(trust: trust))
        live = serverAPI.map { LiveComparison(verifyReceipt: verifyReceipt, serverAPI: $0, now: now) }
        (self.verifyReceipt, self.overrides, self.now, self.sleep) = (verifyReceipt, overrides, now, sleep)
    }

    /// Whether data is requested from Apple.
    package var isLive: Bool { live != nil }

    /// The wait for a rate limit; `nil` if no call is waiting.
    package var rateLimitWait: RateLimitWait? { live?.serverAPI.rateLimitWait }

    /// Number of App Store Server API calls so far.
    var calls: Int64 { live?.serverAPI.calls ?? 0 }

    /// Reason why no further receipt can be compared; `nil` if there is none.
    var stop: RunStop? { live?.stop }

    /// Compares one row. The id identifies the receipt in differences.
    func compare(_ value: StoredValue, id: String) async -> RowOutcome {
        switch value {
        case .missing: return RowOutcome(scope: .unknown, result: .failure(RowFailure("missing")))
        case .unreadable(let code, _): return RowOutcome(scope: .unknown, result: .failure(RowFailure(code)))
        case .bytes(let bytes):
            if let pair = RecordedPair(bytes) { return compare(pair, id: id) }
            return await compare(reader.read(bytes), id: id)
        }
    }

    // MARK: - Recorded pairs

    /// Compares the two responses of a recorded pair, and also the response rendered from the records if the pair
    /// contains the receipt.
    private func compare(_ pair: RecordedPair, id: String) -> RowOutcome {
        var scope = ComparisonReport.Scope.unknown
        do throws(ComparisonError) {
            let left = try ComparedAnswer(verifyReceipt: pair.verifyReceipt)
            scope = ComparisonReport.Scope(left, nil)
            if let status = left.status.map({ VerifyReceiptStatus(rawValue: Int($0)) }), !status.canBeCompared {
                return RowOutcome(scope: scope, result: .failure(Self.failure(status)))
            }
            let recorded = try RecordedRecords(
                history: pair.history, statuses: pair.statuses, verifier: (verifier, now()))
            var right = ComparedAnswer(recorded)
            right.historyVersion = pair.historyVersion
            scope = ComparisonReport.Scope(left, right)
            let receipt = pair.receipt.map(reader.read)
            let records = recorded.records
            var context = context(id, scope)
            context.excludesOldTransactions = pair.excludesOldTransactions
            context.isAuthentic = receipt?.isVerified
            context.consumables = records?.consumables ?? ConsumableIdentifiers()
            let body = receipt.flatMap { receipt in
                verifyReceipt.rendered(
                    for: receipt, records: records, at: left.requestDate ?? now(),
                    excludesOldTransactions: pair.excludesOldTransactions)
            }
            let finding = RowFinding(
                verifyReceipt: left, serverAPI: right, rendered: try body.map(Self.answer), context: context,
                receipt: receipt?.digest ?? SHA.hex(pair.verifyReceipt ?? [], with: .sha256))
            return RowOutcome(scope: scope, result: .success(finding))
        } catch {
            return RowOutcome(scope: scope, result: .failure(RowFailure(error)))
        }
    }

    // MARK: - Stored receipts

    /// Requests the data of a stored receipt and compares it. If there are volatile differences, both sides are
    /// requested again after a pause, and the second result is used.
    private func compare(_ receipt: DecodedReceipt, id: String) async -> RowOutcome {
        let scope = ComparisonReport.Scope(
            bundleId: receipt.isVerified ? receipt.bundleId ?? "" : "",
            environment: receipt.isVerified ? receipt.environment?.rawValue ?? "" : "")
        func failed(_ code: String) -> RowOutcome { RowOutcome(scope: scope, result: .failure(RowFailure(code))) }
        if receipt.isNothing, !receipt.unsigned.isEmpty { return failed("transactionIdsOnly") }
        if let failure = receipt.failure { return failed(failure.code.rawValue) }
        guard let live else { return failed("notRecorded") }
        guard let bundleId = receipt.bundleId.flatMap(BundleIdentifier.init(rawValue:)),
            live.serverAPI.handles(bundleId)
        else {
            return failed("appNotConfigured")
        }
        do throws(RowFailure) {
            let first = try await comparison(of: receipt, bundleId, id: id, scope: scope, live)
            guard case .success(let finding) = first.result,
                finding.decisive.contains(where: { $0.isVolatile })
            else { return first }
            await sleep(Self.pause)
            return (try? await comparison(of: receipt, bundleId, id: id, scope: scope, live)) ?? first
        } catch {
            return RowOutcome(scope: scope, result: .failure(error))
        }
    }

    private func comparison(
        of receipt: DecodedReceipt, _ bundleId: BundleIdentifier, id: String, scope: ComparisonReport.Scope,
        _ live: LiveComparison
    ) async throws(RowFailure) -> RowOutcome {
        let sides = try await live.answers(to: receipt, bundleId: bundleId)
        var context = context(id, scope)
        context.now = sides.time
        context.timeDifference = sides.timeDifference
        context.isAuthentic = receipt.isVerified
        context.consumables = sides.serverAPI?.consumables ?? ConsumableIdentifiers()
        guard sides.verifyReceipt.status.canBeCompared else {
            throw Self.failure(sides.verifyReceipt.status)
        }
        do throws(ComparisonError) {
            let left = try ComparedAnswer(verifyReceipt: sides.verifyReceipt.body)
            let right =
                try sides.serverAPI.map { records throws(ComparisonError) in try ComparedAnswer(records) }
                ?? .unknownCustomer(comparedWith: left, environment: receipt.environment)
            // Render with the date of Apple's response, so that the two responses do not differ because of it.
            let rendered = verifyReceipt.rendered(
                for: receipt, records: sides.serverAPI, at: left.requestDate ?? sides.time)
            let answer = try rendered.map(Self.answer)
            let finding = RowFinding(
                verifyReceipt: left, serverAPI: right, rendered: answer, context: context, receipt: receipt.digest ?? id
            )
            return RowOutcome(scope: scope, result: .success(finding))
        } catch {
            throw RowFailure(error)
        }
    }

    private static func answer(_ body: [UInt8]) throws(ComparisonError) -> ComparedAnswer {
        try ComparedAnswer(verifyReceipt: body, at: "rendered")
    }

    // MARK: - Both

    private func context(_ id: String, _ scope: ComparisonReport.Scope) -> ComparisonContext {
        var context = ComparisonContext(receipt: id)
        context.overrides = overrides[scope.bundleId] ?? [:]
        return context
    }

    /// Returns the failure for a status that is not a result for the receipt. For example, `verifyReceipt.21004`.
    private static func failure(_ status: VerifyReceiptStatus) -> RowFailure {
        RowFailure("verifyReceipt.\(status)", isTemporary: status.isTemporary)
    }
}

extension ComparisonReport.Scope {
    /// Scope of rows that cannot be read.
    static let unknown = ComparisonReport.Scope(bundleId: "", environment: "")

    /// Creates the scope that the sides state. verifyReceipt has precedence.
    init(_ left: ComparedAnswer, _ right: ComparedAnswer?) {
        self.init(
            bundleId: left.bundleId ?? right?.bundleId ?? "",
            environment: left.environment ?? right?.environment ?? "")
    }
}

extension RowFailure {
    /// Creates the failure with the name of the side and the error code. For example, `verifyReceipt.html` or
    /// `history.notAuthentic`.
    fileprivate init(_ error: ComparisonError) {
        self.init("\(error.place.prefix { $0 != "." }).\(error.code.rawValue)")
    }
}

extension ComparedAnswer {
    /// The App Store Server API's side for a customer that it does not know: no transactions.
    fileprivate static func unknownCustomer(
        comparedWith other: ComparedAnswer, environment: AppStoreEnvironment?
    ) -> ComparedAnswer {
        var answer = ComparedAnswer(form: .records)
        answer.isVerified = true
        answer.environment = environment?.rawValue
        answer.bundleId = other.bundleId
        answer.appAppleId = other.appAppleId
        answer.latest = []
        answer.renewals = []
        return answer
    }
}
