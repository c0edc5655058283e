package import Storage
import Responses
import AppStoreTypes

/// The output of `forget`: one JSON object with the data that was erased, the data that was kept and why, and the
/// places that the command cannot reach.
package enum ErasureAnswer {
    /// Places outside the store that may contain data of the customer.
    package static let notCovered = [
        "results, reports and progress files of migrate and compare", "files written by refunds sweep --to", "logs",
        "copies of the store", "what forwarding delivered, and what the App Store holds",
    ]

    /// - Parameter isRewritten: Whether the file was rewritten, so that it contains no remains of erased rows.
    package static func line(_ erasure: Erasure, isDryRun: Bool, isRewritten: Bool) -> [UInt8] {
        JSONWriter.object { writer in
            writer.member("dryRun", isDryRun)
            writer.key("found")
            writer.beginArray()
            for scope in erasure.scopes {
                writer.beginObject()
                writer.member("bundleId", scope.bundleId.rawValue)
                writer.member("environment", scope.environment.rawValue)
                writer.endObject()
            }
            writer.endArray()
            writer.member("erased", erasure.kinds)
            writer.member("waitingDeliveries", Int64(erasure.waitingDeliveries))
            writer.key("kept")
            writer.beginArray()
            if erasure.keptRevocations > 0 {
                writer.beginObject()
                writer.member("kind", "revocations")
                writer.member("count", Int64(erasure.keptRevocations))
                writer.member(
                    "reason", "--keep-revocations: id and date, so that a refunded purchase is not honored again")
                writer.endObject()
            }
            writer.endArray()
            writer.member("rewritten", isRewritten)
            writer.key("notCovered")
            writer.beginArray()
            for location in notCovered { writer.value(location) }
            writer.endArray()
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
        key(name)
        beginObject()
        for kind in kinds { member(kind.name, Int64(kind.count)) }
        endObject()
    }
}
