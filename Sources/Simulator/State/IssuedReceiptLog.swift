import Base
import Synchronization

/// A log file of the receipts that were signed for responses, one a line. After a restart the simulator recognizes
/// them again.
final class IssuedReceiptLog: Sendable {
    private let files: Mutex<PrivateFiles>
    private static let name = "issued.jsonl"

    init(_ files: PrivateFiles) {
        self.files = Mutex(files)
    }

    func add(_ receipt: IssuedReceipt) {
        let plan = receipt.plan
        let line = JSONValue.object([
            "id": .string(plan.id), "customer": .string(receipt.customer.id),
            "version": plan.version.map { .number(Int64($0)) },
            "creationDate": .number(plan.creationDate.milliseconds),
            "transactionIds": .array(plan.transactionIds.map(JSONValue.string)),
            "seed": .number(Int64(bitPattern: plan.seed)), "receipt": .string(receipt.base64),
        ])
        files.withLock { $0.append(Self.name, line: line) }
    }

    func removeAll() {
        files.withLock { $0.remove(Self.name) }
    }

    /// Reads the receipts that were signed for customers of that world.
    func receipts(of world: World, issuer: ReceiptIssuer) -> [IssuedReceipt] {
        let customers = Dictionary(world.customers.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
        return files.withLock { $0.lines(Self.name) }.compactMap { line in
            guard let id = line["id"]?.text, let customer = line["customer"]?.text.flatMap({ customers[$0] }),
                let date = line["creationDate"]?.integer, let seed = line["seed"]?.integer,
                let bytes = line["receipt"]?.text.flatMap(Base64.decode)
            else { return nil }
            let plan = ReceiptPlan(
                id: id, version: line["version"]?.integer.map { UInt8(truncatingIfNeeded: $0) },
                creationDate: Timestamp(milliseconds: date),
                transactionIds: line["transactionIds"]?.elements?.compactMap(\.text) ?? [],
                seed: UInt64(bitPattern: seed))
            return issuer.issue(plan, for: customer, bytes: bytes)
        }
    }
}
