import ReceiptBridgeBase
package import ReceiptBridgeStorage

/// The output of `forget`: one JSON object with the data that was erased, the data that was kept and why, and the
/// places that the command cannot reach.
package enum ErasureAnswer {
    /// Places outside the store that may contain data of the customer.
    package static let notCovered = [
        "results, reports and progress files of migrate and compare",
        "files written by refunds sweep --to", "logs", "copies of the store",
        "what forwarding delivered, and what the App Store holds",
    ]

    /// - Parameter isRewritten: Whether the file was rewritten, so that it contains no remains of erased rows.
    package static func line(_ erasure: Erasure, isDryRun: Bool, isRewritten: Bool) -> [UInt8] {
        JSONWriter.object { writer in
            writer.member("dryRun", isDryRun)
            writer.array("found", erasure.scopes) { writer, scope in
                writer.object {
                    $0.member("bundleId", scope.bundleId.rawValue)
                    $0.member("environment", scope.environment.rawValue)
                }
            }
            writer.member("erased", erasure.kinds)
            writer.member("waitingDeliveries", Int64(erasure.waitingDeliveries))
            writer.array("kept", erasure.keptRevocations > 0 ? [erasure.keptRevocations] : []) { writer, count in
                writer.object {
                    $0.member("kind", "revocations")
                    $0.member("count", Int64(count))
                    $0.member(
                        "reason", "--keep-revocations: id and date, so that a refunded purchase is not honored again")
                }
            }
            writer.member("rewritten", isRewritten)
            writer.member("notCovered", notCovered)
        }
    }

    /// Returns the output of a retention run, which concerns all customers.
    package static func line(expired kinds: [Erasure.Kind], isDryRun: Bool, isRewritten: Bool) -> [UInt8] {
        JSONWriter.object { writer in
            writer.member("dryRun", isDryRun)
            writer.member("expired", kinds)
            writer.member("rewritten", isRewritten)
        }
    }
}

extension JSONWriter {
    fileprivate mutating func member(_ name: String, _ kinds: [Erasure.Kind]) {
        object(name) { writer in
            for kind in kinds { writer.member(kind.name, Int64(kind.count)) }
        }
    }
}
