import ReceiptBridgeBase
import ReceiptBridgeStorage
import ReceiptBridgeStorageTestSupport
import Testing

/// Every case of the rule what a notification or a refund history changes, without an engine.
@Suite("What reports change in the store")
struct RecordChangesTests {
    /// Reports, what is stored before them, and what they change.
    struct Case: Sendable, CustomStringConvertible {
        let description: String
        var stored = StoredRecords()
        let reports: [RecordReport]
        let changes: [String]

        init(
            _ description: String, _ reports: [RecordReport], _ changes: [String],
            stored change: (inout StoredRecords) -> Void = { _ in }
        ) {
            (self.description, self.reports, self.changes) = (description, reports, changes)
            change(&stored)
        }
    }

    private static func time(_ date: Int64) -> Timestamp { Timestamp(milliseconds: date) }

    private static func report(
        _ row: TransactionRow? = nil, renewal: Int64? = nil, status: Int64? = nil, of original: String = "10",
        needsLookup: Bool = false
    ) -> RecordReport {
        let update = NotificationUpdate(
            transaction: row,
            renewal: renewal.map { RenewalRow("10", at: $0, "r") },
            status: status.map { StatusRow(original, at: $0) }, needsLookup: needsLookup)
        let notification = NotificationRow("u", nil, at: 901, signed: 900, text: "n")
        let texts = EncodedNotification(
            raw: "n", transaction: row.map { ($0.text, .raw($0.text)) }, renewal: renewal.map { _ in ("r", .raw("r")) })
        return RecordReport(notification, update, as: texts, recordsEvents: true)
    }

    private static func refund(_ row: TransactionRow, at date: Int64) -> RecordReport {
        RecordReport(
            RefundRow(transaction: row, date: time(date)), as: .raw(row.text), source: .refundSweep, recordsEvents: true
        )
    }

    /// A record of transaction 10 that was signed at 5 and belongs to customer 7, whose next place is 3.
    private static func known(_ stored: inout StoredRecords) {
        stored.records["10"] = StoredRecords.Record(signedDate: time(5), customer: 7)
        stored.purchases["10"] = 7
        stored.customers[7] = StoredRecords.Customer(nextPlace: 3, eventKey: "k")
    }

    private static func revocation(_ fact: FactTime?, reported: Int64? = nil) -> (inout StoredRecords) -> Void {
        { stored in
            known(&stored)
            stored.records["10"]?.reportedRefund = reported.map { time($0) }
            stored.revocations["10"] = StoredRecords.Revocation(date: time(1), reportedAt: fact)
        }
    }

    private static func summary(_ changes: RecordChanges) -> [String] {
        func name(_ row: TransactionRow) -> String { "\(row.transactionId)@\(row.signedDate.milliseconds)" }
        var lines = changes.written.map {
            "write \(name($0.row)) of \($0.customer.map(String.init) ?? "none") at \($0.place)"
        }
        lines += changes.superseded.map { "keep the stored \($0)" }
        lines += changes.history.map { "keep \(name($0.row))" }
        lines += changes.revoked.keys.sorted().map { "revoke \($0)" } + changes.valid.sorted().map { "reverse \($0)" }
        lines += changes.subscriptions.map {
            "subscription \($0.originalTransactionId) renewal \($0.renewalClock) status \($0.statusClock)"
        }
        lines += changes.stale.sorted { $0.key < $1.key }.map { "stale \($0) since \($1.milliseconds)" }
        return lines
            + changes.events.map { event in
                let members = ["transactions", "revocations", "renewalInfos", "statuses"].filter {
                    event.body.contains("\"\($0)\":")
                }
                return "\(event.type.rawValue) of \(event.customer): \(members.joined(separator: " "))"
            }
    }

    private static let records: [Case] = [
        Case(
            "a new record without a customer", [report(TransactionRow("10", at: 5))],
            ["new", "write 10@5 of none at 0", "notification of 10: transactions"]),
        Case(
            "a newer record", [report(TransactionRow("10", at: 6))],
            ["new", "write 10@6 of 7 at 3", "keep the stored 10", "notification of k: transactions"], stored: known),
        Case("the same record", [report(TransactionRow("10", at: 5))], ["old", "notification of k: "], stored: known),
        Case(
            "an older record", [report(TransactionRow("10", at: 4))], ["old", "keep 10@4", "notification of k: "],
            stored: known),
        Case(
            "a newer record of a purchase without a customer", [report(TransactionRow("10", at: 6))],
            ["new", "write 10@6 of none at 0", "keep the stored 10", "notification of 10: transactions"]
        ) { $0.records["10"] = StoredRecords.Record(signedDate: time(5), customer: nil) },
        Case(
            "two versions, the newer one last",
            [report(TransactionRow("10", at: 6)), report(TransactionRow("10", at: 7))],
            [
                "new", "new", "write 10@7 of 7 at 4", "keep the stored 10", "keep 10@6",
                "notification of k: transactions", "notification of k: transactions",
            ], stored: known),
        Case(
            "two versions, the newer one first",
            [report(TransactionRow("10", at: 7)), report(TransactionRow("10", at: 6))],
            [
                "new", "old", "write 10@7 of 7 at 3", "keep the stored 10", "keep 10@6",
                "notification of k: transactions", "notification of k: ",
            ], stored: known),
        Case(
            "the same new record twice", [report(TransactionRow("10", at: 5)), report(TransactionRow("10", at: 5))],
            ["new", "old", "write 10@5 of none at 0", "notification of 10: transactions", "notification of 10: "]),
    ]

    private static let customers: [Case] = [
        Case(
            "a new record of the customer's purchase",
            [report(TransactionRow("11", "10", at: 1, download: "d", from: "9"))],
            ["new", "write 11@1 of 7 at 3", "notification of k: transactions"],
            stored: {
                known(&$0); $0.downloads["d"] = 8; $0.purchases["9"] = 9
            }),
        Case(
            "a new subscription of the customer's download",
            [report(TransactionRow("20", at: 1, download: "d"))],
            ["new", "write 20@1 of 7 at 3", "stale 7 since 900", "notification of k: transactions"],
            stored: {
                known(&$0); $0.downloads["d"] = 7
            }),
        Case(
            "another new purchase of the customer's download",
            [report(TransactionRow("20", at: 1, download: "d", isSubscription: false))],
            ["new", "write 20@1 of 7 at 3", "notification of k: transactions"],
            stored: {
                known(&$0); $0.downloads["d"] = 7
            }),
        Case(
            "a subscription that was migrated", [report(TransactionRow("20", at: 1, download: "d", from: "10"))],
            ["new", "write 20@1 of 7 at 3", "stale 7 since 900", "notification of k: transactions"], stored: known),
        Case(
            "two new records of one customer",
            [report(TransactionRow("11", "10", at: 1)), report(TransactionRow("12", "10", at: 1))],
            [
                "new", "new", "write 11@1 of 7 at 3", "write 12@1 of 7 at 4", "notification of k: transactions",
                "notification of k: transactions",
            ], stored: known),
        Case(
            "a purchase of a download that a report before it named",
            [
                report(TransactionRow("11", "10", at: 1, download: "d")),
                report(TransactionRow("20", at: 1, download: "d")),
            ],
            [
                "new", "new", "write 11@1 of 7 at 3", "write 20@1 of 7 at 4", "stale 7 since 900",
                "notification of k: transactions", "notification of k: transactions",
            ], stored: known),
        Case(
            "a notification that needs a lookup", [report(TransactionRow("10", at: 5), needsLookup: true)],
            ["old", "stale 7 since 900", "notification of k: "], stored: known),
        Case(
            "the same, about a transaction id", [report(status: 1, needsLookup: true)],
            ["old", "subscription 10 renewal -1 status 1", "stale 7 since 900", "notification of 10: statuses"]
        ) { $0.records["10"] = StoredRecords.Record(signedDate: time(5), customer: 7) },
        Case(
            "the same, of no known customer", [report(TransactionRow("10", at: 5), needsLookup: true)],
            ["new", "write 10@5 of none at 0", "notification of 10: transactions"]),
        Case("a notification about nothing", [report()], ["old"]),
    ]

    private static let revocations: [Case] = [
        Case(
            "a revoked record", [report(TransactionRow("10", at: 6, revoked: 2))],
            [
                "new", "write 10@6 of 7 at 3", "keep the stored 10", "revoke 10",
                "notification of k: transactions revocations",
            ], stored: known),
        Case(
            "a revoked record that is older", [report(TransactionRow("10", at: 4, revoked: 2))],
            ["old", "keep 10@4", "notification of k: "], stored: known),
        Case(
            "revoked, and then valid",
            [report(TransactionRow("11", "10", at: 6, revoked: 2)), report(TransactionRow("11", "10", at: 7))],
            [
                "new", "new", "write 11@7 of none at 0", "keep 11@6", "reverse 11",
                "notification of 10: transactions revocations", "notification of 10: transactions",
            ]),
        Case(
            "valid, and then revoked",
            [report(TransactionRow("10", at: 6)), report(TransactionRow("10", at: 7, revoked: 2))],
            [
                "new", "new", "write 10@7 of 7 at 4", "keep the stored 10", "keep 10@6", "revoke 10",
                "notification of k: transactions", "notification of k: transactions revocations",
            ], stored: revocation(.signed(time(5)))),
    ]

    /// A record that was signed at 6 reverses a revocation if it counts over that of the stored fact (``FactTime``).
    private static let reversals: [Case] = [
        ("a signed revocation", .signed(time(5)), true), ("one that was signed later", .signed(time(7)), false),
        ("one of unknown time", nil, true), ("an answer to a request a moment later", .asked(time(300_005)), true),
        ("an answer to a later request", .asked(time(300_006)), false),
    ].map { (name: String, fact: FactTime?, isReversed: Bool) in
        Case(
            "a valid record after \(name)", [report(TransactionRow("10", at: 6))],
            ["new", "write 10@6 of 7 at 3", "keep the stored 10"] + (isReversed ? ["reverse 10"] : [])
                + ["notification of k: transactions"], stored: revocation(fact))
    }

    private static let subscriptions: [Case] =
        [
            ("unknown", nil, "subscription 10 renewal 5 status 6", "renewalInfos statuses"),
            ("older", (4, 5), "subscription 10 renewal 5 status 6", "renewalInfos statuses"),
            ("the same", (5, 6), nil, ""), ("newer", (6, 7), nil, ""),
            ("with an older status", (5, 5), "subscription 10 renewal 5 status 6", "statuses"),
            ("with an older renewal info", (4, 6), "subscription 10 renewal 5 status 6", "renewalInfos"),
        ].map { (name: String, clocks: (Int64, Int64)?, row: String?, members: String) in
            Case(
                "a subscription that is \(name)", [report(renewal: 5, status: 6)],
                ["old"] + [row].compactMap(\.self) + ["notification of 10: \(members)"]
            ) { $0.subscriptions["10"] = clocks.map { StoredRecords.Clocks(renewal: $0.0, status: $0.1) } }
        } + [
            Case(
                "several reports about a subscription",
                [report(renewal: 5, status: 6), report(renewal: 7), report(status: 5), report(renewal: 6, status: 8)],
                [
                    "old", "old", "old", "old", "subscription 10 renewal 7 status 8",
                    "notification of 10: renewalInfos statuses", "notification of 10: renewalInfos",
                    "notification of 10: ",
                    "notification of 10: statuses",
                ]),
            Case(
                "a status of another subscription", [report(renewal: 5, status: 6, of: "20")],
                [
                    "old", "subscription 10 renewal 5 status -1", "subscription 20 renewal -1 status 6",
                    "notification of 10: renewalInfos statuses",
                ]),
        ]

    private static let refunds: [Case] = [
        Case(
            "a refund of a subscription", [refund(TransactionRow("10", at: 6, revoked: 2), at: 2)],
            [
                "new", "write 10@6 of 7 at 3", "keep the stored 10", "revoke 10", "stale 7 since 6",
                "refund of k: transactions revocations",
            ], stored: known),
        Case(
            "a refund that verifyReceipt reported", [refund(TransactionRow("10", at: 6, revoked: 1), at: 1)],
            [
                "new", "write 10@6 of 7 at 3", "keep the stored 10", "revoke 10",
                "refund of k: transactions revocations",
            ], stored: revocation(.asked(time(1)))),
        Case(
            "a refund that is stored, of which there was no event",
            [refund(TransactionRow("10", at: 5, revoked: 1), at: 1)], ["old", "refund of k: transactions revocations"],
            stored: revocation(.asked(time(1)))),
        Case(
            "a refund that is stored, of which there was one", [refund(TransactionRow("10", at: 5, revoked: 1), at: 1)],
            ["old"], stored: revocation(.asked(time(1)), reported: 1)),
        Case(
            "a refund of a consumable, which is no revocation",
            [refund(TransactionRow("10", at: 6, isSubscription: false), at: 2)],
            ["new", "write 10@6 of 7 at 3", "keep the stored 10", "refund of k: transactions"], stored: known),
        Case(
            "a refund of a consumable of which there was an event",
            [refund(TransactionRow("10", at: 6, isSubscription: false), at: 1)],
            ["new", "write 10@6 of 7 at 3", "keep the stored 10"],
            stored: { stored in
                known(&stored)
                stored.records["10"]?.reportedRefund = time(1)
            }),
        Case(
            "a refund of another purchase",
            [refund(TransactionRow("10", at: 6, isSubscription: false, revoked: 2), at: 2)],
            [
                "new", "write 10@6 of 7 at 3", "keep the stored 10", "revoke 10",
                "refund of k: transactions revocations",
            ], stored: known),
        Case(
            "a refund that a history has twice",
            [
                refund(TransactionRow("10", at: 6, revoked: 2), at: 2),
                refund(TransactionRow("10", at: 7, revoked: 2), at: 2),
            ],
            [
                "new", "new", "write 10@7 of 7 at 4", "keep the stored 10", "keep 10@6", "revoke 10",
                "stale 7 since 6", "refund of k: transactions revocations",
            ], stored: known),
    ]

    @Test("Each case of the rule", arguments: records + customers + revocations + reversals + subscriptions + refunds)
    func rule(of sample: Case) {
        var changes = RecordChanges(to: sample.stored)
        let isNew = sample.reports.map { changes.add($0) ? "new" : "old" }
        #expect(isNew + Self.summary(changes) == sample.changes)
    }
}
